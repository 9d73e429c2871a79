package ducklake;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Relation;
import org.apache.spark.sql.connector.catalog.RelationCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.View;

/** A lake in which views can be made too, for Sparks whose catalogs can hold views (4.2). */
public class LakeViewCatalog extends LakeCatalog implements RelationCatalog {
  /** A view of a lake is read as the plan of its query, so that all of them are of DuckDB's SQL. */
  public Relation loadRelation(Identifier place) throws NoSuchTableException {
    return loadTable(place);
  }

  /** CREATE TABLE LIKE, which newer Sparks have. */
  public Table createTableLike(Identifier place, TableInfo wanted, Table source) {
    Map more = new HashMap();
    if (source instanceof LakeTable) {
      more.putAll(source.properties());
      more.remove("location");
      more.remove("is_managed_location");
    }
    more.putAll(wanted.properties());
    return createTable(place, source.columns(), source.partitioning(), more);
  }

  public View loadView(Identifier place) throws NoSuchViewException {
    throw new NoSuchViewException(place);
  }

  public boolean tableExists(Identifier place) {
    return super.tableExists(place) && !viewExists(place);
  }

  public boolean viewExists(Identifier place) {
    return ((Boolean) ask("view_exists", words(place, null))).booleanValue();
  }

  public Identifier[] listViews(String[] namespace) throws NoSuchNamespaceException {
    String[] schema = namespace.length == 0 ? defaultNamespace() : namespace;
    if (!namespaceExists(schema)) {
      throw new NoSuchNamespaceException(schema);
    }
    return identifiers(schema, names("views", new Object[] {schema}));
  }

  public View createView(Identifier place, View view) {
    return make(place, view, false);
  }

  public View replaceView(Identifier place, View view) {
    return make(place, view, true);
  }

  public View createOrReplaceView(Identifier place, View view) {
    return make(place, view, true);
  }

  private View make(Identifier place, View view, boolean replace) {
    Column[] columns = view.columns();
    String[] names = new String[columns.length];
    for (int i = 0; i < names.length; i++) {
      names[i] = columns[i].name();
    }
    Map told = new HashMap();
    told.put("query", view.queryText());
    told.put("catalog", view.currentCatalog());
    told.put("namespace", view.currentNamespace());
    told.put("columns", names);
    told.put("query_columns", view.queryColumnNames());
    told.put("comment", view.properties().get("comment"));
    told.put("replace", Boolean.valueOf(replace));
    ask("create_view", words(place, told));
    return view;
  }

  public boolean dropView(Identifier place) {
    return ((Boolean) ask("drop_view", words(place, null))).booleanValue();
  }

  public void renameView(Identifier place, Identifier to) {
    ask("rename_view", words(place, new Object[] {to.namespace(), to.name()}));
  }
}
