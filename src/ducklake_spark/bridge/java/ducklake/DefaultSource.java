package ducklake;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/** The format "ducklake": Spark finds this class by its name. */
public class DefaultSource
    implements TableProvider,
        RelationProvider,
        CreatableRelationProvider,
        StreamSourceProvider,
        StreamSinkProvider {
  private LakeTable inferred;

  /** A table that is not there has no columns: whoever reads it is told in createRelation. */
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    inferred = load(options.asCaseSensitiveMap());
    return inferred == null ? new StructType() : inferred.schema();
  }

  public Table getTable(StructType schema, Transform[] by, Map options) {
    LakeTable found = inferred == null ? load(options) : inferred;
    return found == null ? (Table) new NoTable() : (Table) found;
  }

  private static LakeTable load(Map options) {
    SparkSession session = SparkSession.active();
    boolean ready =
        Rules.hasRule(
            ((org.apache.spark.sql.classic.SparkSession) session).sessionState().analyzer());
    Object[] question = {"format_table", options, Boolean.valueOf(ready)};
    return (LakeTable) Python.ask(question, session);
  }

  /** Spark comes here for what is no table of a lake: Python says why. */
  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options) {
    Python.ask(new Object[] {"format_missing", Scala.map(options)}, context.sparkSession());
    return new LakeRelation(context, new StructType());
  }

  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset rows) {
    Python.ask(new Object[] {"format_write", Scala.map(options), mode.name()}, rows);
    return new LakeRelation(context, rows.schema());
  }

  public Tuple2 sourceSchema(
      SQLContext context,
      Option schema,
      String provider,
      scala.collection.immutable.Map options) {
    return new Tuple2("ducklake", source(context, options, false).schema());
  }

  public Source createSource(
      SQLContext context,
      String path,
      Option schema,
      String provider,
      scala.collection.immutable.Map options) {
    return source(context, options, true);
  }

  private static LakeSource source(
      SQLContext context, scala.collection.immutable.Map options, boolean runs) {
    Object[] question = {"stream_source", Scala.map(options), Boolean.valueOf(runs)};
    return (LakeSource) Python.ask(question, context.sparkSession());
  }

  public Sink createSink(
      SQLContext context, scala.collection.immutable.Map options, Seq by, OutputMode mode) {
    Map told = new HashMap(Scala.map(options));
    return LakeSink.checked(told, Scala.list(by), mode, context.sparkSession());
  }
}
