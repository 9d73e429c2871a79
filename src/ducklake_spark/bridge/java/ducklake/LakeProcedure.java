package ducklake;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** A procedure of a lake: Python has told its parameters, and gives its rows. */
public class LakeProcedure implements UnboundProcedure, BoundProcedure {
  private final LakeCatalog catalog;
  private final String name;
  private final String description;
  private final ProcedureParameter[] parameters;

  LakeProcedure(LakeCatalog catalog, Map told) {
    this.catalog = catalog;
    this.name = (String) told.get("name");
    this.description = (String) told.get("description");
    List all = (List) told.get("parameters");
    this.parameters = new ProcedureParameter[all.size()];
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] = parameter((Map) all.get(i));
    }
  }

  private static ProcedureParameter parameter(Map told) {
    DataType type = DataType.fromDDL((String) told.get("type"));
    ProcedureParameter.Builder made = ProcedureParameter.in((String) told.get("name"), type);
    if (Boolean.TRUE.equals(told.get("optional"))) {
      made = made.defaultValue("NULL");
    }
    return made.comment((String) told.get("comment")).build();
  }

  public String name() {
    return name;
  }

  public String description() {
    return description;
  }

  public BoundProcedure bind(StructType given) {
    return this;
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
