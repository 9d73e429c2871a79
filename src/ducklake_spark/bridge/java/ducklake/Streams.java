package ducklake;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import scala.Tuple2;

/** Streams over tables by name: what they mean in the format "ducklake". */
public final class Streams {
  private Streams() {}

  /** readStream.table: the format's own stream, under the ids that the relation has. */
  static LogicalPlan reading(StreamingRelationV2 relation) {
    Map options = new HashMap(relation.extraOptions().asCaseSensitiveMap());
    name(options, (CatalogPlugin) relation.catalog().get(), (Identifier) relation.identifier().get());
    SparkSession session = (SparkSession) org.apache.spark.sql.SparkSession.active();
    Dataset frame =
        (Dataset) session.readStream().format("ducklake").options(options).load();
    return Plans.rebound(frame.queryExecution().analyzed(), relation.output());
  }

  /** writeStream.toTable: Spark's own way to write needs classes on its executors. */
  static LogicalPlan writing(WriteToStream plan) {
    Tuple2 place = (Tuple2) plan.catalogAndIdent().get();
    Map options = new HashMap();
    name(options, (CatalogPlugin) place._1(), (Identifier) place._2());
    LakeSink sink =
        LakeSink.checked(
            options,
            Scala.list(Scala.nothing()),
            plan.outputMode(),
            org.apache.spark.sql.SparkSession.active());
    Object[] parts = new Object[plan.productArity()];
    for (int i = 0; i < parts.length; i++) {
      Object part = plan.productElement(i);
      parts[i] = part instanceof LakeTable ? sink : part;
    }
    return (LogicalPlan) plan.makeCopy(parts);
  }

  private static void name(Map options, CatalogPlugin catalog, Identifier table) {
    options.put("catalog", catalog.name());
    options.put("table", quoted(table.namespace()[0]) + "." + quoted(table.name()));
  }

  private static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }
}
