package ducklake;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertStarAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateStarAction;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.collection.immutable.Seq;

/**
 * Lets Spark resolve a MERGE into a lake, which it does not for tables that accept any schema.
 *
 * <p>With schema evolution, the table gets the columns of the source that it lacks, for this
 * statement; Python adds them when the statement runs.
 */
public class MergeRule extends Rule {
  public TreeNode apply(TreeNode plan) {
    if (!(plan instanceof MergeIntoTable)) {
      return plan;
    }
    MergeIntoTable merge = (MergeIntoTable) plan;
    LakeTable table = LakeRule.tableOf(merge.targetTable());
    if (table == null || !table.acceptsAnySchema() || !merge.sourceTable().resolved()) {
      return plan;
    }
    boolean evolves = merge.withSchemaEvolution();
    List added = evolves ? added(merge, table) : new ArrayList();
    List evolving = evolves ? evolving(merge) : new ArrayList();
    LogicalPlan target = with(merge.targetTable(), table.forMerge(added, evolving));
    return merge.copy(
        target,
        merge.sourceTable(),
        merge.mergeCondition(),
        evolves ? written(merge.matchedActions(), target, merge) : merge.matchedActions(),
        evolves ? written(merge.notMatchedActions(), target, merge) : merge.notMatchedActions(),
        merge.notMatchedBySourceActions(),
        false);
  }

  private static LogicalPlan with(LogicalPlan plan, LakeTable table) {
    if (plan instanceof SubqueryAlias) {
      LogicalPlan child = with(((SubqueryAlias) plan).child(), table);
      return (LogicalPlan) plan.withNewChildren(Scala.seq(child));
    }
    return table.in((DataSourceV2Relation) plan);
  }

  /** The columns of the source that the clauses write. */
  private static List evolving(MergeIntoTable merge) {
    Set wanted = new HashSet();
    boolean all = mentioned(merge.matchedActions(), wanted);
    all |= mentioned(merge.notMatchedActions(), wanted);
    List found = new ArrayList();
    for (Object each : Scala.list(merge.sourceTable().output())) {
      String name = ((Attribute) each).name();
      if (all || wanted.contains(name.toLowerCase())) {
        found.add(name);
      }
    }
    return found;
  }

  /** Adds the names that clauses set; whether a clause takes them all. */
  private static boolean mentioned(Seq actions, Set wanted) {
    boolean all = false;
    for (Object each : Scala.list(actions)) {
      all |= each instanceof UpdateStarAction || each instanceof InsertStarAction;
      Seq set = Scala.nothing();
      if (each instanceof UpdateAction) {
        set = ((UpdateAction) each).assignments();
      } else if (each instanceof InsertAction) {
        set = ((InsertAction) each).assignments();
      }
      for (Object assignment : Scala.list(set)) {
        Object key = ((Assignment) assignment).key();
        if (key instanceof UnresolvedAttribute) {
          List parts = Scala.list(((UnresolvedAttribute) key).nameParts());
          wanted.add(((String) parts.get(parts.size() - 1)).toLowerCase());
        }
      }
    }
    return all;
  }

  private static List added(MergeIntoTable merge, LakeTable table) {
    Set known = new HashSet();
    String[] names = table.schema().fieldNames();
    for (int i = 0; i < names.length; i++) {
      known.add(names[i].toLowerCase());
    }
    List wanted = evolving(merge);
    List found = new ArrayList();
    for (Object each : Scala.list(merge.sourceTable().output())) {
      Attribute column = (Attribute) each;
      if (wanted.contains(column.name()) && known.add(column.name().toLowerCase())) {
        found.add(column);
      }
    }
    return found;
  }

  /** Clauses that take all columns take those that both have. */
  private static Seq written(Seq actions, LogicalPlan target, MergeIntoTable merge) {
    List made = new ArrayList();
    for (Object each : Scala.list(actions)) {
      if (each instanceof UpdateStarAction) {
        Object condition = ((UpdateStarAction) each).condition();
        made.add(Reflect.make(UpdateAction.class, condition, shared(target, merge)));
      } else if (each instanceof InsertStarAction) {
        Object condition = ((InsertStarAction) each).condition();
        made.add(Reflect.make(InsertAction.class, condition, shared(target, merge)));
      } else {
        made.add(each);
      }
    }
    return Scala.seq(made);
  }

  private static Seq shared(LogicalPlan target, MergeIntoTable merge) {
    List set = new ArrayList();
    for (Object each : Scala.list(target.output())) {
      Attribute column = (Attribute) each;
      for (Object other : Scala.list(merge.sourceTable().output())) {
        if (column.name().equalsIgnoreCase(((Attribute) other).name())) {
          set.add(new Assignment(column, (Attribute) other));
          break;
        }
      }
    }
    return Scala.seq(set);
  }
}
