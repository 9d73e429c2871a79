package ducklake;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.collection.immutable.Seq;

/** Logical plans that are put in place of others. */
public final class Plans {
  private Plans() {}

  /** The plan with the ids that `wanted` has for its columns; further columns stay as they are. */
  static LogicalPlan rebound(LogicalPlan plan, Seq wanted) {
    List columns = new ArrayList();
    Set taken = new HashSet();
    for (Object each : Scala.list(wanted)) {
      Attribute column = (Attribute) each;
      Attribute found = find(plan, column.name());
      if (found != null && taken.add(column.name())) {
        columns.add(as(found, column));
      }
    }
    for (Object each : Scala.list(plan.output())) {
      if (!taken.contains(((Attribute) each).name())) {
        columns.add(each);
      }
    }
    return new Project(Scala.seq(columns), plan);
  }

  /** The plan with new ids for all its columns. */
  static LogicalPlan fresh(LogicalPlan plan) {
    List columns = new ArrayList();
    for (Object each : Scala.list(plan.output())) {
      columns.add(named((Attribute) each, ((Attribute) each).name()));
    }
    return new Project(Scala.seq(columns), plan);
  }

  /** The plan with the ids and names that `wanted` has, column by column. */
  static LogicalPlan boundInOrder(LogicalPlan plan, Seq wanted) {
    List columns = new ArrayList();
    List found = Scala.list(plan.output());
    List shown = Scala.list(wanted);
    for (int i = 0; i < shown.size(); i++) {
      columns.add(as((Attribute) found.get(i), (Attribute) shown.get(i)));
    }
    return new Project(Scala.seq(columns), plan);
  }

  private static Alias as(Attribute found, Attribute shown) {
    return new Alias(
        found, shown.name(), shown.exprId(), shown.qualifier(), Scala.none(), Scala.nothing());
  }

  /** An expression as a new column. */
  static Alias named(Expression value, String name) {
    return new Alias(
        value,
        name,
        NamedExpression.newExprId(),
        Scala.nothing(),
        Scala.none(),
        Scala.nothing());
  }

  /** The column of that very name, or null. */
  static Attribute find(LogicalPlan plan, String name) {
    for (Object each : Scala.list(plan.output())) {
      if (((Attribute) each).name().equals(name)) {
        return (Attribute) each;
      }
    }
    return null;
  }
}
