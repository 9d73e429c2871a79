package ducklake;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Which values Spark lets a statement write to which columns, by its store assignment policy. */
public final class StoreAssignment {
  private final String policy;

  StoreAssignment(SparkSession session) {
    policy = session.sessionState().conf().storeAssignmentPolicy().toString();
  }

  /** The places of the pairs of types (from, to; as JSON) that it refuses. */
  List refused(List pairs) {
    List found = new ArrayList();
    for (int i = 0; i < pairs.size(); i++) {
      List pair = (List) pairs.get(i);
      DataType from = DataType.fromJson((String) pair.get(0));
      if (!allows(from, DataType.fromJson((String) pair.get(1)))) {
        found.add(Integer.valueOf(i));
      }
    }
    return found;
  }

  private boolean allows(DataType from, DataType to) {
    if (from instanceof ArrayType && to instanceof ArrayType) {
      return allows(((ArrayType) from).elementType(), ((ArrayType) to).elementType());
    } else if (from instanceof MapType && to instanceof MapType) {
      return allows(((MapType) from).keyType(), ((MapType) to).keyType())
          && allows(((MapType) from).valueType(), ((MapType) to).valueType());
    } else if (from instanceof StructType && to instanceof StructType) {
      return true; // fields are matched by the lake
    } else if ("LEGACY".equals(policy)) {
      return true;
    }
    return "STRICT".equals(policy)
        ? Cast.canUpCast(from, to)
        : Cast.canANSIStoreAssign(from, to);
  }
}
