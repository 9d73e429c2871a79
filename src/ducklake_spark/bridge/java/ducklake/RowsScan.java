package ducklake;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** The rows of a frame, which the driver has. */
public class RowsScan implements LocalScan {
  private final StructType schema;
  private final InternalRow[] rows;

  RowsScan(Dataset frame) {
    this.schema = frame.schema();
    this.rows = frame.queryExecution().executedPlan().executeCollect();
  }

  public StructType readSchema() {
    return schema;
  }

  public InternalRow[] rows() {
    return rows;
  }
}
