package ducklake;

import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A column that every table of a lake has and that no SELECT * shows. */
public class VirtualColumn implements MetadataColumn {
  static final MetadataColumn[] ALL = {
    new VirtualColumn("rowid", DataTypes.LongType),
    new VirtualColumn("snapshot_id", DataTypes.LongType),
    new VirtualColumn("filename", DataTypes.StringType),
    new VirtualColumn("file_row_number", DataTypes.LongType),
    new VirtualColumn("_rowid", DataTypes.LongType),
    new VirtualColumn("_file", DataTypes.StringType),
    new VirtualColumn("_pos", DataTypes.LongType),
  };

  private final String name;
  private final DataType type;

  VirtualColumn(String name, DataType type) {
    this.name = name;
    this.type = type;
  }

  public String name() {
    return name;
  }

  public DataType dataType() {
    return type;
  }
}
