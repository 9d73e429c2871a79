package ducklake;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A lake under a name of Spark; each session has one of its own. */
public class LakeCatalog
    implements StagingTableCatalog, SupportsNamespaces, ProcedureCatalog, FunctionCatalog {
  private String name;
  private Object number;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.number =
        Python.ask(
            new Object[] {"attach", name, options.asCaseSensitiveMap()}, SparkSession.active());
  }

  public String name() {
    return name;
  }

  /** By which Python knows it. */
  public Object number() {
    return number;
  }

  public String[] defaultNamespace() {
    return new String[] {"main"};
  }

  Object ask(String what, Object[] words) {
    return Python.ask(new Object[] {what, number, words}, SparkSession.active());
  }

  List names(String what, Object[] words) {
    return (List) Json.read((String) ask(what, words), List.class);
  }

  static Object[] words(Identifier place, Object more) {
    return new Object[] {place.namespace(), place.name(), more};
  }

  // --- tables

  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    String[] schema = namespace.length == 0 ? defaultNamespace() : namespace;
    if (!namespaceExists(schema)) {
      throw new NoSuchNamespaceException(schema);
    }
    return identifiers(schema, names("tables", new Object[] {schema}));
  }

  static Identifier[] identifiers(String[] namespace, List names) {
    Identifier[] found = new Identifier[names.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = Identifier.of(namespace, (String) names.get(i));
    }
    return found;
  }

  public Table loadTable(Identifier place) throws NoSuchTableException {
    return load(place, null, null);
  }

  public Table loadTable(Identifier place, String version) throws NoSuchTableException {
    return load(place, "version", version);
  }

  public Table loadTable(Identifier place, long micros) throws NoSuchTableException {
    return load(place, "timestamp", Long.valueOf(micros));
  }

  public Table loadTable(Identifier place, Set privileges) throws NoSuchTableException {
    return loadTable(place);
  }

  private Table load(Identifier place, String by, Object at) throws NoSuchTableException {
    String session = Settings.key((org.apache.spark.sql.classic.SparkSession) SparkSession.active());
    Table found = (Table) ask("load", words(place, new Object[] {by, at, session}));
    if (found == null) {
      throw new NoSuchTableException(place);
    }
    return found;
  }

  public Set capabilities() {
    Set all = new HashSet();
    all.add(TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE);
    return all;
  }

  private Object make(String how, Identifier place, Column[] columns, Transform[] by, Map more) {
    Map told = new HashMap();
    told.put("columns", CatalogV2Util.v2ColumnsToStructType(columns).json());
    told.put("partitions", Transforms.told(by));
    told.put("properties", more);
    return ask(how, words(place, told));
  }

  public Table createTable(Identifier place, Column[] columns, Transform[] by, Map more) {
    return (Table) make("create", place, columns, by, more);
  }

  public StagedTable stageCreate(Identifier place, Column[] columns, Transform[] by, Map more) {
    return (StagedTable) make("stage_create", place, columns, by, more);
  }

  public StagedTable stageReplace(Identifier place, Column[] columns, Transform[] by, Map more) {
    return (StagedTable) make("stage_replace", place, columns, by, more);
  }

  public StagedTable stageCreateOrReplace(
      Identifier place, Column[] columns, Transform[] by, Map more) {
    return (StagedTable) make("stage_create_or_replace", place, columns, by, more);
  }

  public Table createTable(Identifier place, StructType schema, Transform[] by, Map more) {
    throw new UnsupportedOperationException("an old way to make a table");
  }

  public StagedTable stageCreate(Identifier place, StructType schema, Transform[] by, Map more) {
    throw new UnsupportedOperationException("an old way to make a table");
  }

  public StagedTable stageReplace(Identifier place, StructType schema, Transform[] by, Map more) {
    throw new UnsupportedOperationException("an old way to make a table");
  }

  public StagedTable stageCreateOrReplace(
      Identifier place, StructType schema, Transform[] by, Map more) {
    throw new UnsupportedOperationException("an old way to make a table");
  }

  /** Spark looks the table up again by itself, and takes null. */
  public Table alterTable(Identifier place, TableChange[] changes) {
    ask("alter", words(place, Changes.told(changes)));
    return null;
  }

  public boolean tableExists(Identifier place) {
    return ((Boolean) ask("exists", words(place, null))).booleanValue();
  }

  public boolean dropTable(Identifier place) {
    return ((Boolean) ask("drop", words(place, null))).booleanValue();
  }

  /** Files of a dropped table go when no snapshot needs them any more, however it was dropped. */
  public boolean purgeTable(Identifier place) {
    return dropTable(place);
  }

  public void renameTable(Identifier place, Identifier to) {
    ask("rename", words(place, new Object[] {to.namespace(), to.name()}));
  }

  // --- schemas

  public String[][] listNamespaces() {
    List names = names("schemas", new Object[0]);
    String[][] found = new String[names.size()][];
    for (int i = 0; i < found.length; i++) {
      found[i] = new String[] {(String) names.get(i)};
    }
    return found;
  }

  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return listNamespaces();
    }
    if (!namespaceExists(namespace)) {
      throw new NoSuchNamespaceException(namespace);
    }
    return new String[0][];
  }

  public boolean namespaceExists(String[] namespace) {
    return ((Boolean) ask("schema_exists", new Object[] {namespace})).booleanValue();
  }

  public Map loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    if (!namespaceExists(namespace)) {
      throw new NoSuchNamespaceException(namespace);
    }
    return (Map) Json.read((String) ask("schema", new Object[] {namespace}), Map.class);
  }

  public void createNamespace(String[] namespace, Map more) {
    ask("create_schema", new Object[] {namespace, more});
  }

  public void alterNamespace(String[] namespace, NamespaceChange[] changes) {
    ask("alter_schema", new Object[] {namespace, Changes.told(changes)});
  }

  public boolean dropNamespace(String[] namespace, boolean cascade) {
    ask("drop_schema", new Object[] {namespace, Boolean.valueOf(cascade)});
    return true;
  }

  // --- functions: a lake has none that Spark can call, and says so of each

  public Identifier[] listFunctions(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length > 0 && !namespaceExists(namespace)) {
      throw new NoSuchNamespaceException(namespace);
    }
    return new Identifier[0];
  }

  public UnboundFunction loadFunction(Identifier place) throws NoSuchFunctionException {
    throw new NoSuchFunctionException(place);
  }

  // --- procedures

  public UnboundProcedure loadProcedure(Identifier place) {
    String told = (String) ask("procedure", words(place, null));
    return new LakeProcedure(this, (Map) Json.read(told, Map.class));
  }

  public Identifier[] listProcedures(String[] namespace) {
    return identifiers(new String[] {"system"}, names("procedures", new Object[0]));
  }

  Dataset call(String procedure, Object[] arguments) {
    return (Dataset) ask("call", new Object[] {procedure, arguments});
  }
}
