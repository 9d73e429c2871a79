package ducklake;

import java.util.function.BiFunction;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** A table of a lake as a stream; Python says how far it goes and what a batch consists of. */
public class LakeSource implements Source, SupportsTriggerAvailableNow {
  private final BiFunction source;
  private final StructType schema;

  LakeSource(BiFunction source, StructType schema) {
    this.source = source;
    this.schema = schema;
  }

  private Object ask(Object[] question) {
    return source.apply(Json.write(question), null);
  }

  public StructType schema() {
    return schema;
  }

  /** Limits are Python's own: only a trigger that wants all at once is told. */
  public ReadLimit getDefaultReadLimit() {
    return ReadLimit.maxRows(Long.MAX_VALUE);
  }

  public Option getOffset() {
    return Option.apply(latestOffset(null, ReadLimit.allAvailable()));
  }

  public org.apache.spark.sql.connector.read.streaming.Offset latestOffset(
      org.apache.spark.sql.connector.read.streaming.Offset start, ReadLimit limit) {
    String from = start == null ? null : start.json();
    Boolean all = Boolean.valueOf(limit instanceof ReadAllAvailable);
    String found = (String) ask(new Object[] {"latest", from, all});
    return found == null ? null : new LakeOffset(found);
  }

  public void prepareForTriggerAvailableNow() {
    ask(new Object[] {"available_now"});
  }

  /** A batch has to say that it is one of a stream: a part without rows does. */
  public Dataset getBatch(Option start, Offset end) {
    String from = start.isDefined() ? ((Offset) start.get()).json() : null;
    org.apache.spark.sql.classic.Dataset rows =
        (org.apache.spark.sql.classic.Dataset) ask(new Object[] {"batch", from, end.json()});
    SparkSession session = (SparkSession) rows.sparkSession();
    RDD nothing = new JavaSparkContext(session.sparkContext()).emptyRDD().rdd();
    return session.internalCreateDataFrame(nothing, rows.schema(), true).union(rows);
  }

  public void stop() {
    ask(new Object[] {"stop"});
  }
}
