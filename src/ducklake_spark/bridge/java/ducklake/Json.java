package ducklake;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** Texts in which values cross between the JVM and Python, by the Jackson that Spark brings. */
public final class Json {
  private static final ObjectMapper MAPPER = mapper();

  private Json() {}

  private static ObjectMapper mapper() {
    SimpleModule values = new SimpleModule("values");
    values.addSerializer(UTF8String.class, new ToStringSerializer(UTF8String.class));
    values.addSerializer(Decimal.class, new ToStringSerializer(Decimal.class));
    ObjectMapper made = new ObjectMapper();
    made.registerModule(values);
    return made;
  }

  static String write(Object value) {
    try {
      return MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }

  static Object read(String text, Class kind) {
    try {
      return MAPPER.readValue(text, kind);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }
}
