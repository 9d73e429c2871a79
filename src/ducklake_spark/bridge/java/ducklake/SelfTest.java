package ducklake;

import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.functions;

/** Tries at the first use what a Spark of another version would break. */
public final class SelfTest {
  private SelfTest() {}

  /** "ok", or what is wrong. */
  static String run(Bridge bridge, SparkSession session) throws ReflectiveOperationException {
    if (!"test!".equals(Python.askText(new Object[] {"test", "test"}))) {
      return "Python does not answer";
    }
    Column number = functions.lit(Long.valueOf(1));
    Columns.knownNotNull(Columns.murmur3(number));
    Dataset frame = bridge.relation(session, new NoFiles(), emptyRelation());
    frame = (Dataset) bridge.fresh(frame).filter("i = 1");
    if (!"[[-1,1]]".equals(bridge.scans(frame))) {
      return "its planner does not ask a file index once for its files";
    }
    return "ok";
  }

  private static String emptyRelation() {
    Map table = new HashMap();
    table.put("name", "test");
    table.put("rows", Long.valueOf(0));
    table.put("columns", new HashMap());
    Map facts = new HashMap();
    facts.put("number", Long.valueOf(-1));
    facts.put("label", "test");
    facts.put("schema", fields("i"));
    facts.put("constants", fields("c"));
    facts.put("size", Long.valueOf(0));
    facts.put("format", "parquet");
    facts.put("options", new HashMap());
    facts.put("settings", new String[] {"spark.sql.parquet.fieldId.read.enabled"});
    facts.put("table", table);
    return Json.write(facts);
  }

  private static String fields(String name) {
    return "{\"type\":\"struct\",\"fields\":[{\"name\":\""
        + name
        + "\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}";
  }

  /** A source that has no files. */
  private static final class NoFiles implements BiFunction {
    public Object apply(Object name, Object question) {
      return "[]";
    }
  }
}
