package ducklake;

import java.util.function.BiFunction;

/** The one function of Python that everything asks. */
public final class Python {
  private static volatile BiFunction function;

  private Python() {}

  static void connect(BiFunction answering) {
    function = answering;
  }

  /** Asks a question made of words, lists and maps, with at most one object of the JVM. */
  static Object ask(Object[] question, Object subject) {
    BiFunction asked = function;
    if (asked == null) {
      throw new IllegalStateException(
          "No Python of ducklake-spark is connected to this Spark: import ducklake_spark first.");
    }
    return asked.apply(Json.write(question), subject);
  }

  static String askText(Object[] question) {
    return (String) ask(question, null);
  }
}
