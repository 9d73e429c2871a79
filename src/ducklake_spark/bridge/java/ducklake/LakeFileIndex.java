package ducklake;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/** The files of a table at a snapshot: asks Python once for each plan which ones a filter leaves. */
public class LakeFileIndex implements FileIndex {
  private static final long BLOCK_SIZE = 1L << 27;

  private final long number;
  private final BiFunction source;
  private final String label;
  private final StructType constants;
  private final long size;
  private final String[] settings;
  private final AtomicInteger questions = new AtomicInteger();

  LakeFileIndex(
      long number,
      BiFunction source,
      String label,
      StructType constants,
      long size,
      String[] settings) {
    this.number = number;
    this.source = source;
    this.label = label;
    this.constants = constants;
    this.size = size;
    this.settings = settings;
  }

  /** By which Python knows it again. */
  public long number() {
    return number;
  }

  /** How often it was asked for its files. */
  public int asked() {
    return questions.get();
  }

  /** One directory for each file, whose partition values are the constants of the file. */
  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    Map question = new HashMap();
    question.put("ordinal", Integer.valueOf(questions.incrementAndGet()));
    question.put("filters", Filters.json(dataFilters));
    question.put("sets", Filters.sets(dataFilters));
    question.put("constants", Filters.json(partitionFilters));
    question.put("constants_sql", Filters.sql(partitionFilters));
    question.put("time_zone", SQLConf.get().sessionLocalTimeZone());
    question.put("settings", settingsInForce());
    String answer = (String) source.apply("files", Json.write(question));
    List directories = new ArrayList();
    for (Object file : (List) Json.read(answer, List.class)) {
      directories.add(directory((List) file));
    }
    return Scala.seq(directories);
  }

  private Map settingsInForce() {
    Map found = new HashMap();
    for (int i = 0; i < settings.length; i++) {
      found.put(settings[i], SQLConf.get().getConfString(settings[i]));
    }
    return found;
  }

  /** A file comes as path, length, and its constants. */
  private static PartitionDirectory directory(List file) {
    Object[] values = new Object[file.size() - 2];
    for (int i = 0; i < values.length; i++) {
      Object value = file.get(i + 2);
      values[i] = value == null ? null : Long.valueOf(((Number) value).longValue());
    }
    long length = ((Number) file.get(1)).longValue();
    FileStatus status =
        new FileStatus(length, false, 1, BLOCK_SIZE, 0L, new Path((String) file.get(0)));
    FileStatusWithMetadata listed =
        new FileStatusWithMetadata(status, Scala.map(new HashMap()));
    return new PartitionDirectory(new GenericInternalRow(values), Scala.seq((Object) listed));
  }

  public Seq rootPaths() {
    return Scala.nothing();
  }

  public String[] inputFiles() {
    List paths = (List) Json.read((String) source.apply("paths", ""), List.class);
    return (String[]) paths.toArray(new String[0]);
  }

  public void refresh() {}

  public long sizeInBytes() {
    return size;
  }

  public StructType partitionSchema() {
    return constants;
  }

  public Option metadataOpsTimeNs() {
    return Scala.none();
  }

  public String toString() {
    return "DuckLake " + label;
  }
}
