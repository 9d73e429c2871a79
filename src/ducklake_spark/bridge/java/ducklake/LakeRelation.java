package ducklake;

import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StructType;

/** What a write by format answers: nothing reads it. */
public class LakeRelation extends BaseRelation {
  private final SQLContext context;
  private final StructType schema;

  LakeRelation(SQLContext context, StructType schema) {
    this.context = context;
    this.schema = schema;
  }

  public SQLContext sqlContext() {
    return context;
  }

  public StructType schema() {
    return schema;
  }
}
