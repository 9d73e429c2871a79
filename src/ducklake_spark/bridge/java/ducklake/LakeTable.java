package ducklake;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table of a lake at a snapshot: a marker that LakeRule replaces by the plan it carries. */
public class LakeTable
    implements StagedTable, SupportsRead, SupportsWrite, SupportsMetadataColumns, TruncatableTable {
  private final String name;
  private final BiFunction source;
  private final StructType schema;
  private final LogicalPlan plan;
  private final Map properties;
  private final Transform[] partitions;
  private final boolean totals;
  private final List evolving; // null where the table takes rows of any schema

  /** The facts: properties, columns with their rules if they have any, keys of partitions. */
  LakeTable(String name, BiFunction source, Dataset frame, Map facts) {
    this.name = name;
    this.source = source;
    String columns = (String) facts.get("columns");
    this.schema = columns == null ? frame.schema() : (StructType) DataType.fromJson(columns);
    this.plan = frame.queryExecution().analyzed();
    this.properties = (Map) facts.get("properties");
    this.partitions = Transforms.made((List) facts.get("partitions"));
    this.totals = Boolean.TRUE.equals(facts.get("totals"));
    this.evolving = null;
  }

  private LakeTable(LakeTable same, StructType schema, List evolving) {
    this.name = same.name;
    this.source = same.source;
    this.schema = schema;
    this.plan = same.plan;
    this.properties = same.properties;
    this.partitions = same.partitions;
    this.totals = same.totals;
    this.evolving = evolving;
  }

  /** Whether Python may be asked how many rows it has and within which bounds. */
  boolean knowsTotals() {
    return totals;
  }

  /** Whether Spark leaves it to the lake how rows become those of the table. */
  boolean acceptsAnySchema() {
    return evolving == null;
  }

  /** Columns of a MERGE's source whose types the table is to have. */
  List evolving() {
    return evolving;
  }

  /** The table as Spark resolves a MERGE against it, with the columns that this adds. */
  LakeTable forMerge(List added, List evolving) {
    StructType wide = schema;
    for (Object each : added) {
      wide = wide.add(((Attribute) each).name(), ((Attribute) each).dataType());
    }
    return new LakeTable(this, wide, evolving);
  }

  /** The relation with this table in its place. */
  DataSourceV2Relation in(DataSourceV2Relation relation) {
    return DataSourceV2Relation.create(this, relation.catalog(), relation.identifier());
  }

  public String name() {
    return name;
  }

  public String version() {
    return (String) properties.get("snapshot");
  }

  public StructType schema() {
    return schema;
  }

  /** What is known, and the options of the table, which are asked for: no query needs them. */
  public Map properties() {
    Map all = new HashMap(properties);
    all.putAll((Map) Json.read((String) ask("options", "", null), Map.class));
    return all;
  }

  public Transform[] partitioning() {
    return partitions;
  }

  public Set capabilities() {
    Set all = new HashSet();
    all.add(TableCapability.BATCH_READ);
    all.add(TableCapability.V1_BATCH_WRITE);
    all.add(TableCapability.TRUNCATE);
    all.add(TableCapability.OVERWRITE_BY_FILTER);
    if (acceptsAnySchema()) {
      all.add(TableCapability.ACCEPT_ANY_SCHEMA);
    }
    if (!properties.containsKey("by_format")) { // the format has a sink of its own, with options
      all.add(TableCapability.STREAMING_WRITE);
    }
    return all;
  }

  public MetadataColumn[] metadataColumns() {
    return VirtualColumn.ALL;
  }

  /** StagedTable and TruncatableTable both have it as a default in newer Sparks. */
  public CustomTaskMetric[] reportDriverMetrics() {
    return new CustomTaskMetric[0];
  }

  public boolean truncateTable() {
    ask("truncate", "", null);
    return true;
  }

  public void commitStagedChanges() {
    ask("commit", "", null);
  }

  public void abortStagedChanges() {
    ask("abort", "", null);
  }

  /** DESCRIBE EXTENDED asks for it; a plan with it never runs. */
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new NoScan(schema);
  }

  /** LakeRule makes a LakeCommand of every write. */
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    throw new UnsupportedOperationException("a write to " + name + " without its rule");
  }

  /** Asks Python about this very table and snapshot. */
  Object ask(String what, Object words, Object subject) {
    return source.apply(Json.write(new Object[] {what, words}), subject);
  }

  /** What the options of a reader ask for; null if that is the table itself. */
  LogicalPlan withOptions(DataSourceV2Relation relation, boolean alone) {
    Map options = relation.options().asCaseSensitiveMap();
    if (options.isEmpty() || !totals) {
      return null;
    }
    Object found = ask("with_options", new Object[] {options, Boolean.valueOf(alone)}, null);
    return found == null ? null : ((Dataset) found).queryExecution().analyzed();
  }

  /** The native plan under the ids that the relation's columns have. */
  LogicalPlan scan(DataSourceV2Relation relation) {
    withOptions(relation, false);
    List own = Arrays.asList(schema.fieldNames());
    List virtual = new ArrayList();
    for (Object each : Scala.list(relation.output())) {
      String column = ((Attribute) each).name();
      if (!own.contains(column)) {
        virtual.add(column);
      }
    }
    LogicalPlan found = plan;
    if (!virtual.isEmpty()) {
      found = ((Dataset) ask("virtual", virtual, null)).queryExecution().analyzed();
    }
    return Plans.rebound(found, relation.output());
  }
}
