package ducklake;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What Catalyst filters say, as texts that Python reads. */
public final class Filters {
  private Filters() {}

  /** All of them as the children of one expression, in Catalyst's own JSON. */
  static String json(Seq filters) {
    return new Coalesce(filters).toJSON();
  }

  static String sql(Seq filters) {
    return new Coalesce(filters).sql();
  }

  /** The values of each InSet in the order of the tree: its JSON leaves them out. */
  static List sets(Seq filters) {
    List found = new ArrayList();
    collect(filters, found);
    return found;
  }

  private static void collect(scala.collection.Seq expressions, List found) {
    for (Object each : Scala.list(expressions)) {
      Expression expression = (Expression) each;
      if (expression instanceof InSet) {
        found.add(new ArrayList(CollectionConverters.asJava(((InSet) expression).hset())));
      }
      collect(expression.children(), found);
    }
  }
}
