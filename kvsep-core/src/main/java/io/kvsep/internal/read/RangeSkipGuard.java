package io.kvsep.internal.read;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Watches that a walk which leaps over deleted ranges gets on. In a table with entries out of
 * order, as no accident makes one, an entry behind a range may be followed by one in front of it,
 * and the walk would leap to the same place for ever. Not thread safe.
 */
final class RangeSkipGuard {
  /** Each source of a cursor may be taken to the same place once; there are fewer than these. */
  private static final int SAME_MAX = 10_000;

  private byte @Nullable [] furthest;
  private boolean forward;
  private int notFurther;

  /** The walk begins anew. */
  void forget() {
    furthest = null;
    notFurther = 0;
  }

  /** Notes a leap; whether it is one of a walk that gets on. */
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
