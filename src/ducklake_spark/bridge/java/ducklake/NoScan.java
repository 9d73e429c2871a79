package ducklake;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;

/** A scan that is only looked at: LakeRule has replaced it before anything runs. */
public class NoScan implements ScanBuilder, Scan {
  private final StructType schema;

  NoScan(StructType schema) {
    this.schema = schema;
  }

  public Scan build() {
    return this;
  }

  public StructType readSchema() {
    return schema;
  }
}
