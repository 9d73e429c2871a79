package ducklake;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/** What columns are set to: whole columns, and fields of structs. */
public final class Assignments {
  private final Map byColumn = new LinkedHashMap();
  private final List wrong = new ArrayList();

  Assignments(Seq assignments) {
    for (Object each : Scala.list(assignments)) {
      Assignment assignment = (Assignment) each;
      Attribute column = columnOf(assignment.key());
      if (column == null) {
        wrong.add(assignment.key().sql());
      } else {
        add(column, assignment);
      }
    }
  }

  private void add(Attribute column, Assignment added) {
    List known = (List) byColumn.get(column.name());
    if (known == null) {
      known = new ArrayList();
      byColumn.put(column.name(), known);
    }
    for (Object each : known) {
      if (holds(((Assignment) each).key(), added.key())
          || holds(added.key(), ((Assignment) each).key())) {
        wrong.add(added.key().sql());
      }
    }
    known.add(added);
  }

  private static Attribute columnOf(Expression key) {
    Expression found = key;
    while (found instanceof GetStructField) {
      found = ((GetStructField) found).child();
    }
    return found instanceof Attribute ? (Attribute) found : null;
  }

  /** Whether a place is another, or within it. */
  private static boolean holds(Expression outer, Expression inner) {
    Expression found = inner;
    while (!found.semanticEquals(outer) && found instanceof GetStructField) {
      found = ((GetStructField) found).child();
    }
    return found.semanticEquals(outer);
  }

  /** The names of the columns that are set, or a part of which is. */
  List columns() {
    return new ArrayList(byColumn.keySet());
  }

  /** Places that are set twice, or that are neither a column nor a field. */
  List wrong() {
    return wrong;
  }

  /** The new value of a column. */
  Expression value(String column) {
    List all = (List) byColumn.get(column);
    return value(columnOf(((Assignment) all.get(0)).key()), all);
  }

  private static Expression value(Expression place, List all) {
    boolean within = false;
    for (Object each : all) {
      Assignment assignment = (Assignment) each;
      if (assignment.key().semanticEquals(place)) {
        return plain(assignment.value());
      }
      within |= holds(place, assignment.key());
    }
    return within ? rebuilt(place, all) : place;
  }

  private static Expression rebuilt(Expression struct, List all) {
    StructField[] fields = ((StructType) struct.dataType()).fields();
    List parts = new ArrayList();
    for (int i = 0; i < fields.length; i++) {
      Expression field = new GetStructField(struct, i, Option.apply(fields[i].name()));
      parts.add(Literal.create(fields[i].name(), DataTypes.StringType));
      parts.add(value(field, all));
    }
    return new CreateNamedStruct(Scala.seq(parts));
  }

  /** Without the conversions that Spark adds: the lake has its own, the same for all statements. */
  private static Expression plain(Expression value) {
    Expression found = value;
    while (found instanceof AssertNotNull
        || (found instanceof Cast && !found.getTagValue(Cast.BY_TABLE_INSERTION()).isEmpty())) {
      found = (Expression) found.children().apply(0);
    }
    return found;
  }
}
