package ducklake;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** A procedure of a lake: Python has told its parameters. */
public class LakeProcedure implements UnboundProcedure {
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

  /** Another object: Spark tells by the class whether a procedure has been bound. */
  public BoundProcedure bind(StructType given) {
    return new LakeCall(catalog, name, description, parameters);
  }
}
