package ducklake;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.BaseSubqueryExec;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;

/** Finds the scans of lakes in a physical plan, wherever they hide. */
public final class Scans {
  private Scans() {}

  /** Each file index of a plan, by number, and which question was its last. */
  static List in(SparkPlan plan) {
    List found = new ArrayList();
    visit(plan, found, new IdentityHashMap());
    return found;
  }

  private static void visit(SparkPlan plan, List found, Map seen) {
    if (seen.put(plan, plan) != null) {
      return;
    }
    if (plan instanceof FileSourceScanExec) {
      FileSourceScanExec scan = (FileSourceScanExec) plan;
      if (scan.relation().location() instanceof LakeFileIndex) {
        scan.selectedPartitions();
        LakeFileIndex index = (LakeFileIndex) scan.relation().location();
        found.add(new Object[] {Long.valueOf(index.number()), Integer.valueOf(index.asked())});
      }
    }
    for (Object child : Scala.list(plan.children())) {
      visit((SparkPlan) child, found, seen);
    }
    for (Object subquery : Scala.list(plan.subqueries())) {
      visit((SparkPlan) subquery, found, seen);
    }
    SparkPlan hidden = hiddenIn(plan);
    if (hidden != null) {
      visit(hidden, found, seen);
    }
  }

  private static SparkPlan hiddenIn(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      return ((AdaptiveSparkPlanExec) plan).initialPlan();
    }
    if (plan instanceof InMemoryTableScanExec) {
      return ((InMemoryTableScanExec) plan).relation().cachedPlan();
    }
    if (plan instanceof BaseSubqueryExec) {
      return ((BaseSubqueryExec) plan).child();
    }
    if (plan instanceof QueryStageExec) {
      return ((QueryStageExec) plan).plan();
    }
    return null;
  }
}
