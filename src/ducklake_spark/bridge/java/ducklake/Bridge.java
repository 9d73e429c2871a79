package ducklake;

import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** All that Python asks of the JVM; it names no other class. */
public class Bridge {
  /** Python refuses classes of another version. */
  public String version() {
    return "1";
  }

  public void connect(BiFunction python) {
    Python.connect(python);
  }

  /** Tries the ways that everything else takes: "ok", or what is wrong. */
  public String test(SparkSession session) throws ReflectiveOperationException {
    return SelfTest.run(this, session);
  }

  // --- errors

  public Throwable error(long number, String message) {
    return new LakeError(number, message);
  }

  public long errorNumber(Throwable thrown) {
    return LakeError.findNumber(thrown);
  }

  // --- frames

  public Dataset frame(SparkSession session, LogicalPlan plan) {
    return Dataset.ofRows(session, plan);
  }

  /** The same frame with settings of its own; those of its session stay as they are. */
  public Dataset withSettings(Dataset frame, String settings) {
    SparkSession session = ((SparkSession) frame.sparkSession()).cloneSession();
    for (Object each : ((Map) Json.read(settings, Map.class)).entrySet()) {
      Map.Entry setting = (Map.Entry) each;
      session.conf().set((String) setting.getKey(), (String) setting.getValue());
    }
    return frame(session, frame.queryExecution().analyzed());
  }

  /** A relation over the files that `source` chooses: columns of the schema, then constants. */
  public Dataset relation(SparkSession session, BiFunction source, String facts)
      throws ReflectiveOperationException {
    Map told = (Map) Json.read(facts, Map.class);
    StructType constants = type(told.get("constants"));
    List settings = (List) told.get("settings");
    LakeFileIndex index =
        new LakeFileIndex(
            ((Number) told.get("number")).longValue(),
            source,
            (String) told.get("label"),
            constants,
            ((Number) told.get("size")).longValue(),
            (String[]) settings.toArray(new String[0]));
    FileFormat format =
        "binaryfile".equals(told.get("format")) ? new BinaryFileFormat() : new ParquetFileFormat();
    HadoopFsRelation relation =
        new HadoopFsRelation(
            index,
            constants,
            type(told.get("schema")),
            Scala.none(),
            format,
            Scala.map((Map) told.get("options")),
            session);
    Map table = (Map) told.get("table");
    LogicalRelation plan =
        table == null
            ? LogicalRelation$.MODULE$.apply(relation, false)
            : LogicalRelation$.MODULE$.apply(
                relation, Estimates.described(table, index.sizeInBytes(), relation.schema()));
    return frame(session, plan);
  }

  private static StructType type(Object json) {
    return (StructType) DataType.fromJson((String) json);
  }

  /** The relations that a frame's physical plan reads, by number, and their last questions. */
  public String scans(Dataset frame) {
    return Json.write(Scans.in(frame.queryExecution().executedPlan()));
  }

  // --- lakes by name

  /** Lets a session, and those made beside it, know lakes by name. */
  public void install(SparkSession session) throws ReflectiveOperationException {
    Catalogs.prefer(session);
    Rules.addTo(session);
  }

  public LakeTable table(String name, BiFunction source, Dataset frame, String facts) {
    return new LakeTable(name, source, frame, (Map) Json.read(facts, Map.class));
  }

  /** The places of the pairs of types that Spark does not let a statement write. */
  public String refusedTypes(SparkSession session, String pairs) {
    return Json.write(
        new StoreAssignment(session).refused((List) Json.read(pairs, List.class)));
  }

  /** The number of a session's catalog, or null if the name is not a lake's. */
  public Object catalog(SparkSession session, String name) {
    if (!session.sessionState().conf().contains("spark.sql.catalog." + name)) {
      return null;
    }
    Option before = org.apache.spark.sql.SparkSession.getActiveSession();
    // A catalog is made with the settings of the session that is active in this thread.
    org.apache.spark.sql.SparkSession.setActiveSession(session);
    try {
      CatalogPlugin found = session.sessionState().catalogManager().catalog(name);
      return found instanceof LakeCatalog ? ((LakeCatalog) found).number() : null;
    } finally {
      if (before.isDefined()) {
        org.apache.spark.sql.SparkSession.setActiveSession(
            (org.apache.spark.sql.SparkSession) before.get());
      } else {
        org.apache.spark.sql.SparkSession.clearActiveSession();
      }
    }
  }

  /** Sets what has another value; one call for all of them. */
  public void set(SparkSession session, String settings) {
    for (Object each : ((Map) Json.read(settings, Map.class)).entrySet()) {
      String key = (String) ((Map.Entry) each).getKey();
      String value = (String) ((Map.Entry) each).getValue();
      if (!value.equals(session.conf().get(key, null))) {
        session.conf().set(key, value);
      }
    }
  }

  /** What tells sessions apart, and a session from itself with other settings. */
  public String sessionKey(SparkSession session) {
    return Settings.key(session);
  }

  /** The same rows under ids of their own: two frames of one table can be told apart. */
  public Dataset fresh(Dataset frame) {
    LogicalPlan plan = Plans.fresh(frame.queryExecution().analyzed());
    return frame((SparkSession) frame.sparkSession(), plan);
  }

  /** A table as a stream, of which `source` knows everything. */
  public LakeSource streamSource(BiFunction source, StructType schema) {
    return new LakeSource(source, schema);
  }

  /** What tells sessions apart. */
  public String sessionId(SparkSession session) {
    return session.sessionUUID();
  }

  // --- columns

  public Column unscaled(Column column) {
    return Columns.unscaled(column);
  }

  public Column murmur3(Column column) {
    return Columns.murmur3(column);
  }

  public Column micros(Column column, String kind) {
    return Columns.micros(column, kind);
  }

  public Column knownNotNull(Column column) {
    return Columns.knownNotNull(column);
  }

  public Column hasBit(JavaSparkContext context, byte[] bits, Column index) {
    return Columns.hasBit(context.broadcast(BitSet.valueOf(bits)), index);
  }
}
