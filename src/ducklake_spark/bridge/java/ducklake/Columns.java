package ducklake;

import java.util.BitSet;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.immutable.Seq;

/** Expressions of Catalyst that have no function of their own in Spark's API. */
public final class Columns {
  private Columns() {}

  static Column unscaled(Column column) {
    return made(new UnscaledValue(expression(column)));
  }

  static Column murmur3(Column column) {
    return made(new Murmur3Hash(Scala.seq((Object) expression(column)), 0));
  }

  static Column micros(Column column, String kind) {
    DataType from = DataType.fromDDL(kind);
    return made(new PreciseTimestampConversion(expression(column), from, DataTypes.LongType));
  }

  static Column knownNotNull(Column column) {
    return made(new KnownNotNull(expression(column)));
  }

  /** A look into bits that every executor has: no job, where a join would need one. */
  static Column hasBit(Broadcast bits, Column index) {
    Expression sent = new Literal(bits, new ObjectType(Broadcast.class));
    Expression set = call(sent, "value", new ObjectType(BitSet.class), Scala.nothing());
    return made(call(set, "get", DataTypes.BooleanType, Scala.seq((Object) expression(index))));
  }

  private static Expression call(Expression on, String method, DataType type, Seq arguments) {
    // No types to cast arguments to; NULL gives NULL; the method gives none; it is deterministic.
    return new Invoke(on, method, type, arguments, Scala.nothing(), true, false, true);
  }

  static Expression expression(Column column) {
    return ExpressionUtils.expression(column);
  }

  static Column made(Expression expression) {
    return ExpressionUtils.column(expression);
  }
}
