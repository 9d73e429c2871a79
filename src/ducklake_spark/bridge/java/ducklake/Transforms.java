package ducklake;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;

/** Keys of PARTITIONED BY in words that Python reads, and back. */
public final class Transforms {
  private Transforms() {}

  /** Of each key its name, its columns (as lists of names) and its number, if it has one. */
  static List told(Transform[] keys) {
    List all = new ArrayList();
    for (int i = 0; i < keys.length; i++) {
      List columns = new ArrayList();
      Object number = null;
      Expression[] arguments = keys[i].arguments();
      for (int j = 0; j < arguments.length; j++) {
        if (arguments[j] instanceof NamedReference) {
          columns.add(((NamedReference) arguments[j]).fieldNames());
        } else if (arguments[j] instanceof Literal) {
          number = ((Literal) arguments[j]).value();
        }
      }
      Map told = new HashMap();
      told.put("name", keys[i].name());
      told.put("columns", columns);
      told.put("number", number);
      told.put("text", keys[i].describe());
      all.add(told);
    }
    return all;
  }

  /** The same from what `told` has said; the transforms of a lake have names of their own. */
  static Transform[] made(List keys) {
    Transform[] all = new Transform[keys.size()];
    for (int i = 0; i < all.length; i++) {
      Map told = (Map) keys.get(i);
      String name = (String) told.get("name");
      String column = (String) told.get("column");
      if ("identity".equals(name)) {
        all[i] = Expressions.identity(column);
      } else if ("bucket".equals(name)) {
        int number = ((Number) told.get("number")).intValue();
        all[i] = Expressions.bucket(number, new String[] {column});
      } else {
        all[i] = Expressions.apply(name, new Expression[] {Expressions.column(column)});
      }
    }
    return all;
  }
}
