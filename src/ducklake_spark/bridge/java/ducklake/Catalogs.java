package ducklake;

import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import scala.jdk.javaapi.CollectionConverters;

/** Gives lakes that settings name the class with views, where this Spark has views in catalogs. */
public final class Catalogs {
  private static final String PLAIN = "ducklake.LakeCatalog";
  private static final String WITH_VIEWS = "ducklake.LakeViewCatalog";

  private Catalogs() {}

  static void prefer(SparkSession session) {
    if (!hasViews()) {
      return;
    }
    Map all = CollectionConverters.asJava(session.sessionState().conf().getAllConfs());
    for (Object each : all.entrySet()) {
      String key = (String) ((Map.Entry) each).getKey();
      if (key.startsWith("spark.sql.catalog.") && PLAIN.equals(((Map.Entry) each).getValue())) {
        session.sessionState().conf().setConfString(key, WITH_VIEWS);
        session.sparkContext().conf().set(key, WITH_VIEWS);
      }
    }
  }

  private static boolean hasViews() {
    try {
      Class.forName("org.apache.spark.sql.connector.catalog.RelationCatalog");
      Thread.currentThread().getContextClassLoader().loadClass(WITH_VIEWS);
      return true;
    } catch (ClassNotFoundException error) {
      return false;
    }
  }
}
