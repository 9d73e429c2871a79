package ducklake;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.streaming.OutputMode;

/** A table of a lake that a stream writes: Python gets each batch, with the query's id. */
public class LakeSink implements Sink {
  /** Under this name a streaming query tells its jobs who it is. */
  private static final String QUERY_ID = "sql.streaming.queryId";

  private final Map options;
  private final List partitions;
  private final String mode;

  private LakeSink(Map options, List partitions, String mode) {
    this.options = options;
    this.partitions = new ArrayList(partitions);
    this.mode = mode;
  }

  /** The sink, if Python finds nothing wrong with it. */
  static LakeSink checked(Map options, List partitions, OutputMode mode, SparkSession session) {
    LakeSink made = new LakeSink(options, partitions, mode.toString());
    Python.ask(new Object[] {"stream_sink", options, mode.toString()}, session);
    return made;
  }

  public String name() {
    return "DuckLake";
  }

  /** The batch may not be planned again: its rows are taken as they come. */
  public void addBatch(long number, Dataset rows) {
    org.apache.spark.sql.classic.Dataset data = (org.apache.spark.sql.classic.Dataset) rows;
    org.apache.spark.sql.classic.SparkSession session =
        (org.apache.spark.sql.classic.SparkSession) data.sparkSession();
    Map facts = new HashMap();
    facts.put("query", session.sparkContext().getLocalProperty(QUERY_ID));
    facts.put("batch", Long.valueOf(number));
    facts.put("mode", mode);
    facts.put("partitions", partitions);
    Dataset plain =
        session.internalCreateDataFrame(data.queryExecution().toRdd(), data.schema(), false);
    Python.ask(new Object[] {"stream_batch", options, facts}, plain);
  }
}
