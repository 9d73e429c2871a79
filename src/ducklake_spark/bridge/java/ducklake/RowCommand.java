package ducklake;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** A resolved statement that changes rows of a table: what Python asks of it. */
public class RowCommand {
  private final LogicalPlan plan;
  private final DataSourceV2Relation relation;
  private final LogicalPlan query;

  /** `query` has the rows that are written or merged; null for a statement without any. */
  RowCommand(LogicalPlan plan, DataSourceV2Relation relation, LogicalPlan query) {
    this.plan = plan;
    this.relation = relation;
    this.query = query;
  }

  LakeTable table() {
    return (LakeTable) relation.table();
  }

  /** What EXPLAIN shows of it. */
  public String toString() {
    return kind() + " " + table().name();
  }

  LogicalPlan shown() {
    return query == null ? plan : query;
  }

  String kind() {
    if (plan instanceof DeleteFromTable) {
      return "delete";
    } else if (plan instanceof UpdateTable) {
      return "update";
    } else if (plan instanceof MergeIntoTable) {
      return "merge";
    } else if (plan instanceof AppendData) {
      return "append";
    }
    return plan instanceof OverwriteByExpression ? "overwrite" : "overwrite_partitions";
  }

  /** The columns of the statement's answer. */
  String[] counts() {
    if (plan instanceof MergeIntoTable) {
      return new String[] {
        "num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"
      };
    }
    boolean changes = plan instanceof DeleteFromTable || plan instanceof UpdateTable;
    return changes ? new String[] {"num_affected_rows"} : new String[0];
  }

  Object run() {
    return table().ask(kind(), words(), this);
  }

  private Map words() {
    Map told = new HashMap();
    told.put("virtual", virtual());
    told.put("all", Boolean.valueOf(isTrue(condition())));
    if (plan instanceof V2WriteCommand) {
      told.put("by_name", Boolean.valueOf(((V2WriteCommand) plan).isByName()));
      told.put("evolves", Boolean.valueOf(Reflect.isTrue(plan, "withSchemaEvolution")));
      Map options = new HashMap(relation.options().asCaseSensitiveMap());
      scala.collection.Map given =
          (scala.collection.Map) Reflect.call(plan, "writeOptions");
      options.putAll(CollectionConverters.asJava(given));
      told.put("options", options);
    } else if (plan instanceof UpdateTable) {
      Assignments set = new Assignments(((UpdateTable) plan).assignments());
      told.put("set", set.columns());
      told.put("wrong", set.wrong());
    } else if (plan instanceof MergeIntoTable) {
      told.putAll(new Merge((MergeIntoTable) plan, query).words(relation));
    }
    return told;
  }

  /** Columns of the statement that are none of the table's own. */
  private List virtual() {
    List own = Arrays.asList(table().schema().fieldNames());
    List found = new ArrayList();
    for (Object each : Scala.list(relation.output())) {
      if (!own.contains(((Attribute) each).name())) {
        found.add(((Attribute) each).name());
      }
    }
    return found;
  }

  private Expression condition() {
    if (plan instanceof DeleteFromTable) {
      return ((DeleteFromTable) plan).condition();
    } else if (plan instanceof OverwriteByExpression) {
      return ((OverwriteByExpression) plan).deleteExpr();
    } else if (plan instanceof UpdateTable) {
      Option found = ((UpdateTable) plan).condition();
      return found.isEmpty() ? Literal.TrueLiteral() : (Expression) found.get();
    }
    return Literal.TrueLiteral();
  }

  private static boolean isTrue(Expression condition) {
    return condition instanceof Literal
        && Boolean.TRUE.equals(((Literal) condition).value());
  }

  private LogicalPlan bound(Dataset frame) {
    return Plans.rebound(frame.queryExecution().analyzed(), relation.output());
  }

  private static Dataset over(Dataset frame, LogicalPlan made) {
    return Dataset.ofRows((SparkSession) frame.sparkSession(), made);
  }

  /** The rows that are written, or those of the source. */
  public Dataset query(SparkSession session) {
    return Dataset.ofRows(session, query);
  }

  /** The rows of `target` that the condition is true for. */
  public Dataset matching(Dataset target) {
    LogicalPlan rows = bound(target);
    Expression condition = condition();
    return over(target, isTrue(condition) ? rows : new Filter(condition, rows));
  }

  /** `rows` with a column that says whether the condition is true. */
  public Dataset marked(Dataset rows, String mark) {
    LogicalPlan found = bound(rows);
    List columns = new ArrayList(Scala.list(found.output()));
    columns.add(Plans.named(condition(), mark));
    return over(rows, new Project(Scala.seq(columns), found));
  }

  /** `matching`, with a further column for each that is set: its name after `prefix`. */
  public Dataset updated(Dataset target, String prefix) {
    LogicalPlan rows = matching(target).queryExecution().logical();
    List columns = new ArrayList(Scala.list(rows.output()));
    Assignments set = new Assignments(((UpdateTable) plan).assignments());
    for (Object name : set.columns()) {
      columns.add(Plans.named(set.value((String) name), prefix + name));
    }
    return over(target, new Project(Scala.seq(columns), rows));
  }

  /** Target and source joined, with the clause that each row takes; see Merge. */
  public Dataset merged(Dataset target, Dataset source, String told) {
    Merge merge = new Merge((MergeIntoTable) plan, query);
    LogicalPlan rows = source == null ? query : merge.bound(source);
    return over(target, merge.joined(bound(target), rows, (Map) Json.read(told, Map.class)));
  }
}
