package ducklake;

import org.apache.spark.sql.execution.streaming.Offset;

/** How far a stream has read, in the words of Python. */
public class LakeOffset extends Offset {
  private final String text;

  LakeOffset(String text) {
    this.text = text;
  }

  public String json() {
    return text;
  }
}
