package ducklake;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;

/** Calls what some Spark declares where the compiler cannot see it. */
public final class Reflect {
  private Reflect() {}

  /** What a method without arguments answers; null for null. */
  static Object call(Object on, String method) {
    if (on == null) {
      return null;
    }
    try {
      Method found = on.getClass().getMethod(method, new Class[0]);
      found.setAccessible(true); // a public method of a class that is not
      return found.invoke(on, new Object[0]);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Whether some Spark has a method, and it answers true. */
  static boolean isTrue(Object on, String method) {
    try {
      return Boolean.TRUE.equals(call(on, method));
    } catch (IllegalStateException missing) {
      return false;
    }
  }

  /** A new object of two arguments; a third, which newer Sparks have, is a flag that is not set. */
  static Object make(Class kind, Object first, Object second) {
    try {
      Constructor made = kind.getConstructors()[0];
      Object[] given = new Object[made.getParameterTypes().length];
      given[0] = first;
      given[1] = second;
      for (int i = 2; i < given.length; i++) {
        given[i] = Boolean.FALSE;
      }
      return made.newInstance(given);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }
}
