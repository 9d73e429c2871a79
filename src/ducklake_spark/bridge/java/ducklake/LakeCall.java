package ducklake;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;

/** A procedure of a lake whose arguments are known: Python gives its rows. */
public class LakeCall implements BoundProcedure {
  private final LakeCatalog catalog;
  private final String name;
  private final String description;
  private final ProcedureParameter[] parameters;

  LakeCall(LakeCatalog catalog, String name, String description, ProcedureParameter[] parameters) {
    this.catalog = catalog;
    this.name = name;
    this.description = description;
    this.parameters = parameters;
  }

  public String name() {
    return name;
  }

  public String description() {
    return description;
  }

  public ProcedureParameter[] parameters() {
    return parameters;
  }

  public boolean isDeterministic() {
    return false;
  }

  public Iterator call(InternalRow given) {
    Object[] arguments = new Object[parameters.length];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = value(given.isNullAt(i) ? null : given.get(i, parameters[i].dataType()), i);
    }
    return Collections.singletonList(new RowsScan(catalog.call(name, arguments))).iterator();
  }

  /** A value as JSON can tell it: moments are microseconds since 1970. */
  private Object value(Object given, int i) {
    if (!(given instanceof ArrayData)) {
      return given;
    }
    ArrayData items = (ArrayData) given;
    DataType type = ((ArrayType) parameters[i].dataType()).elementType();
    List all = new ArrayList();
    for (int j = 0; j < items.numElements(); j++) {
      all.add(items.isNullAt(j) ? null : items.get(j, type));
    }
    return all;
  }
}
