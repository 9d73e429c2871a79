package ducklake;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.DeduplicateRelations;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/** Puts the native plan where a table of a lake is read, and a command where one is changed. */
public class LakeRule extends Rule {
  public TreeNode apply(TreeNode plan) {
    LogicalPlan before = (LogicalPlan) plan;
    LogicalPlan asked = withOptions(before);
    if (asked != null) {
      return asked;
    }
    LogicalPlan after = visit(before);
    return after == before ? plan : DeduplicateRelations.apply(after);
  }

  /** A table that is all that a query consists of may show other columns, as its options say. */
  private static LogicalPlan withOptions(LogicalPlan plan) {
    LakeTable table = plan.analyzed() ? null : tableOf(plan);
    return table == null ? null : table.withOptions(relationOf(plan), true);
  }

  private LogicalPlan visit(LogicalPlan plan) {
    if (plan.analyzed()) {
      return plan;
    }
    if (plan instanceof DataSourceV2Relation) {
      LakeTable table = tableOf(plan);
      return table == null ? plan : table.scan((DataSourceV2Relation) plan);
    }
    if (plan instanceof StreamingRelationV2
        && ((StreamingRelationV2) plan).table() instanceof LakeTable) {
      return Streams.reading((StreamingRelationV2) plan);
    }
    if (plan instanceof WriteToStream && ((WriteToStream) plan).sink() instanceof LakeTable) {
      return Streams.writing((WriteToStream) plan);
    }
    LogicalPlan totals = Totals.of(plan);
    if (totals != null) {
      return totals;
    }
    LogicalPlan command = command(plan);
    if (command != null) {
      return command;
    }
    boolean changed = false;
    List children = new ArrayList();
    for (Object each : Scala.list(plan.children())) {
      LogicalPlan child = visit((LogicalPlan) each);
      changed |= child != each;
      children.add(child);
    }
    return changed ? (LogicalPlan) plan.withNewChildren(Scala.seq(children)) : plan;
  }

  /** The command for a statement that changes a table of a lake; null for any other. */
  private LogicalPlan command(LogicalPlan plan) {
    LogicalPlan target = null;
    LogicalPlan query = null;
    if (plan instanceof DeleteFromTable || plan instanceof UpdateTable) {
      target = (LogicalPlan) plan.children().apply(0);
    } else if (plan instanceof MergeIntoTable) {
      target = ((MergeIntoTable) plan).targetTable();
      query = ((MergeIntoTable) plan).sourceTable();
    } else if (plan instanceof V2WriteCommand) {
      target = (LogicalPlan) ((V2WriteCommand) plan).table();
      query = ((V2WriteCommand) plan).query();
    }
    if (target == null || tableOf(target) == null) {
      return null;
    }
    if (!plan.resolved()) {
      return plan; // Spark says why
    }
    return LakeCommand.of(
        new RowCommand(plan, relationOf(target), query == null ? null : rows(query)));
  }

  private LogicalPlan rows(LogicalPlan query) {
    LogicalPlan found = visit(query);
    return found == query ? query : DeduplicateRelations.apply(found);
  }

  /** The table of a lake that a plan reads under whatever alias, or null. */
  static LakeTable tableOf(LogicalPlan plan) {
    DataSourceV2Relation found = relationOf(plan);
    return found != null && found.table() instanceof LakeTable ? (LakeTable) found.table() : null;
  }

  /** The relation of a plan that reads nothing else, or null. */
  static DataSourceV2Relation relationOf(LogicalPlan plan) {
    LogicalPlan found = plan;
    while (found instanceof SubqueryAlias) {
      found = ((SubqueryAlias) found).child();
    }
    return found instanceof DataSourceV2Relation ? (DataSourceV2Relation) found : null;
  }
}
