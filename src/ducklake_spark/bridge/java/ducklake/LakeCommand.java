package ducklake;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/** A statement that changes rows of a lake: Python gets it when it runs, and not when explained. */
public class LakeCommand extends LogicalPlan implements LeafRunnableCommand {
  private final RowCommand statement;
  private final Seq output;

  /** Spark copies a plan by a constructor that takes what `productElement` gives. */
  public LakeCommand(RowCommand statement, Seq output) {
    this.statement = statement;
    this.output = output;
  }

  static LakeCommand of(RowCommand statement) {
    List columns = new ArrayList();
    String[] counts = statement.counts();
    for (int i = 0; i < counts.length; i++) {
      columns.add(
          new AttributeReference(
              counts[i],
              DataTypes.LongType,
              true,
              Metadata.empty(),
              NamedExpression.newExprId(),
              Scala.nothing()));
    }
    return new LakeCommand(statement, Scala.seq(columns));
  }

  public Seq run(SparkSession session) {
    List counts = (List) Json.read((String) statement.run(), List.class);
    if (output.isEmpty()) {
      return Scala.nothing();
    }
    Object[] row = new Object[counts.size()];
    for (int i = 0; i < row.length; i++) {
      row[i] = Long.valueOf(((Number) counts.get(i)).longValue());
    }
    return Scala.seq(RowFactory.create(row));
  }

  public Seq output() {
    return output;
  }

  public Seq children() {
    return Scala.nothing();
  }

  public LogicalPlan mapChildren(Function1 change) {
    return this;
  }

  public LogicalPlan withNewChildrenInternal(IndexedSeq children) {
    return this;
  }

  /** What EXPLAIN shows below it. */
  public Seq innerChildren() {
    return Scala.seq(statement.shown());
  }

  public scala.collection.immutable.Map metrics() {
    return (scala.collection.immutable.Map) Map$.MODULE$.empty();
  }

  public AttributeSet producedAttributes() {
    return outputSet();
  }

  public Statistics stats() {
    return Statistics.DUMMY();
  }

  public Seq nodePatterns() {
    return Scala.seq(TreePattern.COMMAND());
  }

  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq patterns) {}

  public String nodeName() {
    return "DuckLake";
  }

  public int productArity() {
    return 2;
  }

  public Object productElement(int place) {
    return place == 0 ? (Object) statement : (Object) output;
  }

  public boolean canEqual(Object other) {
    return other instanceof LakeCommand;
  }

  public boolean equals(Object other) {
    return this == other;
  }

  public int hashCode() {
    return System.identityHashCode(this);
  }
}
