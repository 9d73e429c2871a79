package ducklake;

import scala.runtime.AbstractFunction1;

/** Makes a rule for sessions to come: the one that runs last, or the one that runs before. */
public class RuleBuilder extends AbstractFunction1 {
  private final boolean last;

  RuleBuilder(boolean last) {
    this.last = last;
  }

  public Object apply(Object session) {
    return last ? (Object) new LakeRule() : (Object) new MergeRule();
  }
}
