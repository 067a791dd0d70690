package io.kvsep.internal.read;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Detects an iterator that skips deleted ranges without progress. In a malicious table an entry
 * before a range may follow one after it, and the iterator would skip to the same key forever. Not
 * thread safe.
 */
final class RangeSkipGuard {
  /** Each source may skip to the same key once; there are fewer sources than this. */
  private static final int SAME_MAX = 10_000;

  private byte @Nullable [] furthest;
  private boolean forward;
  private int notFurther;

  void forget() {
    furthest = null;
    notFurther = 0;
  }

  boolean getOn(byte[] to, boolean walksForward) {
    byte[] before = forward == walksForward ? furthest : null;
    forward = walksForward;
    int order = before == null ? 1 : Arrays.compareUnsigned(to, before);
    if (before == null || (walksForward ? order > 0 : order < 0)) {
      furthest = to;
      notFurther = 0;
      return true;
    }
    notFurther++;
    return notFurther <= SAME_MAX;
  }
}
