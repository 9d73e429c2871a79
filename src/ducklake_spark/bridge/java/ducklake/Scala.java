package ducklake;

import java.util.Collections;
import java.util.List;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Lists of Java as those of Scala, and back. */
public final class Scala {
  private Scala() {}

  static Seq seq(List items) {
    return CollectionConverters.asScala(items).toSeq();
  }

  static Seq seq(Object only) {
    return seq(Collections.singletonList(only));
  }

  static Seq nothing() {
    return seq(Collections.emptyList());
  }

  static Option none() {
    return Option.empty();
  }

  static List list(scala.collection.Seq items) {
    return (List) CollectionConverters.asJava(items);
  }

  static java.util.Map map(scala.collection.immutable.Map entries) {
    return CollectionConverters.asJava((scala.collection.Map) entries);
  }

  static scala.collection.immutable.Map map(java.util.Map entries) {
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(entries));
  }
}
