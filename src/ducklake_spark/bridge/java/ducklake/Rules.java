package ducklake;

import java.lang.reflect.Field;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;

/** Gives LakeRule and MergeRule to a session that exists, and to all that will be made beside it. */
public final class Rules {
  private Rules() {}

  static void addTo(SparkSession session) throws ReflectiveOperationException {
    Analyzer analyzer = session.sessionState().analyzer();
    if (hasRule(analyzer)) {
      return;
    }
    session.extensions().injectResolutionRule(new RuleBuilder(false));
    session.extensions().injectPostHocResolutionRule(new RuleBuilder(true));
    // The analyzer of this session is built: its rules can only be replaced.
    set(analyzer, "extendedResolutionRules",
        analyzer.extendedResolutionRules().appended(new MergeRule()));
    set(analyzer, "postHocResolutionRules",
        analyzer.postHocResolutionRules().appended(new LakeRule()));
  }

  private static void set(Analyzer analyzer, String name, Object rules)
      throws ReflectiveOperationException {
    Field field = field(analyzer.getClass(), name);
    field.setAccessible(true);
    field.set(analyzer, rules);
  }

  static boolean hasRule(Analyzer analyzer) {
    for (Object each : Scala.list(analyzer.postHocResolutionRules())) {
      if (each instanceof LakeRule) {
        return true;
      }
    }
    return false;
  }

  private static Field field(Class start, String name) throws NoSuchFieldException {
    for (Class each = start; each != null; each = each.getSuperclass()) {
      Field[] fields = each.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getName().equals(name)) {
          return fields[i];
        }
      }
    }
    throw new NoSuchFieldException(name + " of Spark's analyzer");
  }
}
