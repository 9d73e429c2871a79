package ducklake;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.plans.JoinType$;
import org.apache.spark.sql.catalyst.plans.logical.DeleteAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/** A MERGE: its clauses, and the one query that says which of them each row takes. */
public final class Merge {
  private static final String[] WHEN = {"matched", "not_matched", "not_matched_by_source"};

  private final MergeIntoTable plan;
  private final LogicalPlan source;
  private final List actions = new ArrayList();
  private final List whens = new ArrayList();

  Merge(MergeIntoTable plan, LogicalPlan source) {
    this.plan = plan;
    this.source = source;
    add(plan.matchedActions(), WHEN[0]);
    add(plan.notMatchedActions(), WHEN[1]);
    add(plan.notMatchedBySourceActions(), WHEN[2]);
  }

  private void add(Seq found, String when) {
    for (Object each : Scala.list(found)) {
      actions.add(each);
      whens.add(when);
    }
  }

  private static Assignments assignments(MergeAction action) {
    if (action instanceof UpdateAction) {
      return new Assignments(((UpdateAction) action).assignments());
    }
    if (action instanceof InsertAction) {
      return new Assignments(((InsertAction) action).assignments());
    }
    return new Assignments(Scala.nothing());
  }

  /** The clauses, and which columns of table and source must be equal. */
  Map words(DataSourceV2Relation relation) {
    List arms = new ArrayList();
    List wrong = new ArrayList();
    for (int i = 0; i < actions.size(); i++) {
      Assignments set = assignments((MergeAction) actions.get(i));
      wrong.addAll(set.wrong());
      Map arm = new HashMap();
      arm.put("when", whens.get(i));
      arm.put("action", action(actions.get(i)));
      arm.put("set", set.columns());
      arms.add(arm);
    }
    List keys = new ArrayList();
    equalities(plan.mergeCondition(), relation, keys);
    Map told = new HashMap();
    told.put("arms", arms);
    told.put("wrong", wrong);
    told.put("keys", keys);
    told.put("evolving", ((LakeTable) relation.table()).evolving());
    return told;
  }

  private static String action(Object action) {
    if (action instanceof DeleteAction) {
      return "delete";
    }
    return action instanceof UpdateAction ? "update" : "insert";
  }

  /** Pairs of a column of the table and the place of one of the source that must be equal. */
  private void equalities(Expression condition, DataSourceV2Relation relation, List found) {
    if (condition instanceof And) {
      equalities(((And) condition).left(), relation, found);
      equalities(((And) condition).right(), relation, found);
    } else if (condition instanceof EqualTo) {
      Expression left = ((EqualTo) condition).left();
      Expression right = ((EqualTo) condition).right();
      pair(left, right, relation, found);
      pair(right, left, relation, found);
    }
  }

  private void pair(Expression own, Expression other, DataSourceV2Relation relation, List found) {
    int column = place(own, relation.output());
    int from = place(other, source.output());
    if (column >= 0 && from >= 0) {
      found.add(new Object[] {((Attribute) own).name(), Integer.valueOf(from)});
    }
  }

  private static int place(Expression column, Seq output) {
    List columns = Scala.list(output);
    for (int i = 0; i < columns.size(); i++) {
      if (((Attribute) columns.get(i)).semanticEquals(column)) {
        return i;
      }
    }
    return -1;
  }

  /** The source's rows as they were computed, under the ids that the statement knows. */
  LogicalPlan bound(Dataset computed) {
    return Plans.boundInOrder(computed.queryExecution().analyzed(), source.output());
  }

  /**
   * The number of each row's clause, the values that clauses ask for, the row as it is.
   *
   * @param told what columns are called: "action", "in_source", "position", "kept" (columns of the
   *     target to keep), "ids" (of the table's columns, by name)
   */
  LogicalPlan joined(LogicalPlan target, LogicalPlan rows, Map told) {
    Alias here = Plans.named(Literal.TrueLiteral(), (String) told.get("in_source"));
    List all = new ArrayList(Scala.list(rows.output()));
    all.add(here);
    LogicalPlan marked = new Project(Scala.seq(all), rows);
    LogicalPlan join =
        new Join(
            target,
            marked,
            JoinType$.MODULE$.apply(joinType()),
            Option.apply(plan.mergeCondition()),
            JoinHint$.MODULE$.NONE());
    Expression inTarget = new IsNotNull(Plans.find(target, (String) told.get("position")));
    Expression inSource = new IsNotNull(here.toAttribute());
    Alias action = Plans.named(choice(inTarget, inSource), (String) told.get("action"));
    List items = new ArrayList(Scala.list(join.output()));
    items.add(action);
    LogicalPlan chosen = new Project(Scala.seq(items), join);
    return new Project(Scala.seq(columns(action.toAttribute(), target, told)), chosen);
  }

  private String joinType() {
    boolean adds = whens.contains(WHEN[1]);
    boolean rest = whens.contains(WHEN[2]);
    return adds ? (rest ? "fullouter" : "rightouter") : (rest ? "leftouter" : "inner");
  }

  private Expression choice(Expression inTarget, Expression inSource) {
    List branches = new ArrayList();
    for (int i = 0; i < actions.size(); i++) {
      Expression test =
          whens.get(i).equals(WHEN[0])
              ? new And(inTarget, inSource)
              : new Not(whens.get(i).equals(WHEN[1]) ? inTarget : inSource);
      Option condition = ((MergeAction) actions.get(i)).condition();
      if (!condition.isEmpty()) {
        test = new And(test, (Expression) condition.get());
      }
      branches.add(new Tuple2(test, number(i)));
    }
    return new CaseWhen(Scala.seq(branches), Scala.none());
  }

  private static Literal number(int value) {
    return Literal.create(Integer.valueOf(value), DataTypes.IntegerType);
  }

  /** A value is computed for the rows of its clause alone: for others it might fail. */
  private List columns(Attribute action, LogicalPlan target, Map told) {
    Map ids = (Map) told.get("ids");
    List made = new ArrayList();
    made.add(action);
    for (int i = 0; i < actions.size(); i++) {
      Assignments set = assignments((MergeAction) actions.get(i));
      for (Object name : set.columns()) {
        Expression value = set.value((String) name);
        Literal none = Literal.create(null, value.dataType());
        Expression guarded = new If(new EqualTo(action, number(i)), value, none);
        made.add(Plans.named(guarded, "_m" + i + "_" + ids.get(name)));
      }
    }
    for (Object each : ids.entrySet()) {
      Map.Entry entry = (Map.Entry) each;
      Attribute old = Plans.find(target, (String) entry.getKey());
      made.add(Plans.named(old, "_t" + entry.getValue()));
    }
    for (Object name : (List) told.get("kept")) {
      made.add(Plans.find(target, (String) name));
    }
    return made;
  }
}
