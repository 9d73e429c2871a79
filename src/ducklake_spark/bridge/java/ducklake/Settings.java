package ducklake;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.TreeMap;
import org.apache.spark.sql.classic.SparkSession;
import scala.jdk.javaapi.CollectionConverters;

/** The settings of a session: what an analyzed plan was made with. */
public final class Settings {
  private Settings() {}

  /** What tells sessions apart, and a session from itself with other settings. */
  static String key(SparkSession session) {
    return session.sessionUUID() + digest(session);
  }

  /** A digest of all of them: equal for equal settings, and it tells no value. */
  private static String digest(SparkSession session) {
    TreeMap sorted =
        new TreeMap(CollectionConverters.asJava(session.sessionState().conf().getAllConfs()));
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] bytes = digest.digest(sorted.toString().getBytes(StandardCharsets.UTF_8));
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < bytes.length; i++) {
        text.append(Integer.toHexString(bytes[i] & 0xff)).append('.');
      }
      return text.toString();
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }
}
