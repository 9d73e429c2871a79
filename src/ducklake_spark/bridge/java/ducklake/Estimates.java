package ducklake;

import java.lang.reflect.Constructor;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat;
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable$;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.math.BigInt;

/** What the optimizer may expect of a relation, and the name that EXPLAIN shows for it. */
public final class Estimates {
  private static final int STATISTICS = 12;

  private Estimates() {}

  /** The description of a table that carries statistics into Spark's plans. */
  static CatalogTable described(Map told, long size, StructType schema)
      throws ReflectiveOperationException {
    Constructor made = widestConstructor();
    Object[] values = new Object[made.getParameterTypes().length];
    for (int i = 4; i < values.length; i++) {
      String method = "apply$default$" + (i + 1);
      values[i] =
          CatalogTable$.class.getMethod(method, new Class[0]).invoke(CatalogTable$.MODULE$, new Object[0]);
    }
    values[0] = new TableIdentifier((String) told.get("name"), Scala.none(), Scala.none());
    values[1] = CatalogTableType.EXTERNAL();
    values[2] = CatalogStorageFormat.empty();
    values[3] = schema;
    values[STATISTICS] = Option.apply(statistics(told, size));
    return (CatalogTable) made.newInstance(values);
  }

  /** Newer Sparks have more fields, at the end and with defaults. */
  private static Constructor widestConstructor() {
    Constructor[] all = CatalogTable.class.getConstructors();
    Constructor widest = all[0];
    for (int i = 1; i < all.length; i++) {
      if (all[i].getParameterTypes().length > widest.getParameterTypes().length) {
        widest = all[i];
      }
    }
    return widest;
  }

  private static CatalogStatistics statistics(Map told, long size) {
    Map columns = new HashMap();
    for (Object each : ((Map) told.get("columns")).entrySet()) {
      Map.Entry column = (Map.Entry) each;
      columns.put(column.getKey(), column((Map) column.getValue()));
    }
    return new CatalogStatistics(number(Long.valueOf(size)), some(told.get("rows")), Scala.map(columns));
  }

  private static CatalogColumnStat column(Map told) {
    return new CatalogColumnStat(
        some(told.get("distinct")),
        option(told.get("min")),
        option(told.get("max")),
        some(told.get("nulls")),
        length(told.get("width")),
        length(told.get("width")),
        Scala.none(),
        CatalogColumnStat.VERSION());
  }

  private static Option option(Object value) {
    return Option.apply(value);
  }

  private static Option length(Object value) {
    return value == null ? Scala.none() : Option.apply(Long.valueOf(((Number) value).longValue()));
  }

  private static Option some(Object value) {
    return value == null ? Scala.none() : Option.apply(number(value));
  }

  private static BigInt number(Object value) {
    return new BigInt(BigInteger.valueOf(((Number) value).longValue()));
  }
}
