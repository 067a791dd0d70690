package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import java.nio.ByteBuffer;

/**
 * Whether it is worth trying to compress the next of many values: after some in a row that did not
 * get shorter only now and then, less and less often; after one that did always again. Trying in
 * vain takes most of what else is done with a value. Not thread safe.
 */
final class CompressionTrials {
  /** Where one value in ten gets shorter, so many in a row that do not are rare. */
  private static final int FAILURES_MAX = 64;

  private static final int SKIPPED_MAX = 15;

  private int failures;
  private int skipped;
  private int toSkip;

  /** As {@link ValueCodec#compress}, if that is due; -1 when it was not tried or does not pay. */
  int compress(ByteBuffer value, GrowingRegion target, NativeWindow window) {
    if (!isDue()) {
      return -1;
    }
    int stored = ValueCodec.compress(value, target, window);
    tried(stored >= 0);
    return stored;
  }

  /** Whether to try with the next value; {@link #tried} then says what became of it. */
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
