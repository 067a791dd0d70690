package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import java.nio.ByteBuffer;

/**
 * Decides whether to try to compress the next value: after a run of incompressible values it skips
 * values, more after each further failure, until a success. A failed trial is most of the work on a
 * value. Not thread safe.
 */
final class CompressionTrials {
  /** Such a run is rare if one value in ten is compressible. */
  private static final int FAILURES_MAX = 64;

  private static final int SKIPPED_MAX = 15;

  private int failures;
  private int skipped;
  private int toSkip;

  /** As {@link ValueCodec#compress}; -1 if the trial is skipped or saves too little. */
  int compress(ByteBuffer value, GrowingRegion target, NativeWindow window) {
    if (!isDue()) {
      return -1;
    }
    int stored = ValueCodec.compress(value, target, window);
    tried(stored >= 0);
    return stored;
  }

  /** The caller reports the result of a trial to {@link #tried}. */
  boolean isDue() {
    if (toSkip > 0) {
      toSkip--;
      return false;
    }
    return true;
  }

  void tried(boolean gotShorter) {
    if (gotShorter) {
      failures = 0;
      skipped = 0;
    } else if (++failures >= FAILURES_MAX) {
      skipped = Math.min(SKIPPED_MAX, 2 * skipped + 1);
      toSkip = skipped;
    }
  }
}
