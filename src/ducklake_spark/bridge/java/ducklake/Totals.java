package ducklake;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import scala.collection.immutable.Seq;

/** Counts, least and greatest values of a whole table, where the catalog knows them exactly. */
public final class Totals {
  private Totals() {}

  /** The plan that has the answers; null if it is no such query, or only the files can tell. */
  static LogicalPlan of(LogicalPlan plan) {
    if (!(plan instanceof Aggregate)) {
      return null;
    }
    Aggregate asked = (Aggregate) plan;
    LakeTable table = LakeRule.tableOf(asked.child());
    if (table == null || !table.knowsTotals() || !asked.groupingExpressions().isEmpty()) {
      return null;
    }
    List questions = new ArrayList();
    for (Object each : Scala.list(asked.aggregateExpressions())) {
      Object[] question = each instanceof Alias ? question(((Alias) each).child()) : null;
      if (question == null) {
        return null;
      }
      questions.add(question);
    }
    table.withOptions(LakeRule.relationOf(asked.child()), false);
    Object found = table.ask("totals", questions, null);
    return found == null ? null : answers((Dataset) found, questions, asked.output());
  }

  /** An aggregate as its name and its column; null for others than these. */
  private static Object[] question(Expression expression) {
    if (!(expression instanceof AggregateExpression)) {
      return null;
    }
    AggregateExpression aggregate = (AggregateExpression) expression;
    if (aggregate.isDistinct() || aggregate.filter().isDefined()) {
      return null;
    }
    AggregateFunction function = aggregate.aggregateFunction();
    List inputs = Scala.list(function.children());
    if (inputs.size() != 1) {
      return null;
    }
    Object input = inputs.get(0);
    if (function instanceof Count && input instanceof Literal) {
      return ((Literal) input).value() == null ? null : new Object[] {"count", null};
    }
    boolean known = function instanceof Count || function instanceof Min || function instanceof Max;
    if (!known || !(input instanceof Attribute)) {
      return null;
    }
    return new Object[] {function.prettyName(), ((Attribute) input).name()};
  }

  private static LogicalPlan answers(Dataset found, List questions, Seq shown) {
    LogicalPlan plan = found.queryExecution().analyzed();
    List values = Scala.list(plan.output());
    List columns = new ArrayList();
    for (int i = 0; i < questions.size(); i++) {
      Attribute column = (Attribute) Scala.list(shown).get(i);
      Expression value = (Expression) values.get(i);
      if ("count".equals(((Object[]) questions.get(i))[0])) {
        value = new KnownNotNull(value);
      }
      columns.add(
          new Alias(
              value,
              column.name(),
              column.exprId(),
              column.qualifier(),
              Scala.none(),
              Scala.nothing()));
    }
    return new Project(Scala.seq(columns), plan);
  }
}
