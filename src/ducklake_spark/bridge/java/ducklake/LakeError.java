package ducklake;

/** An error of Python on its way through the JVM: Python knows it again by its number. */
public class LakeError extends IllegalArgumentException {
  private final long number;

  public LakeError(long number, String message) {
    super(message);
    this.number = number;
  }

  /** The number of the first such error among a throwable and its causes, or -1. */
  public static long findNumber(Throwable thrown) {
    int depth = 0;
    for (Throwable each = thrown; each != null && depth < 50; each = each.getCause()) {
      if (each instanceof LakeError) {
        return ((LakeError) each).number;
      }
      depth++;
    }
    return -1;
  }
}
