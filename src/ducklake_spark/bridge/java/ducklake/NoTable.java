package ducklake;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.types.StructType;

/** Stands for a table that is not there, which a write may make. */
public class NoTable implements Table {
  public String name() {
    return "no table";
  }

  public StructType schema() {
    return new StructType();
  }

  public Set capabilities() {
    return new HashSet();
  }
}
