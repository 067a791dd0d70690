package io.kvsep.internal.vlog;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Decides whether records are read through the mapping alone or brought into memory by a positional
 * read first: the one place for that policy. Figures: docs/decisions/0008.
 *
 * <p>A page fault on a mapping reads around itself, up to the device's read-ahead of several
 * megabytes, where a positional read fetches no more than it was asked for. So for data that is not
 * in memory the mapping costs thousands of microseconds a record instead of some fifty. For data
 * that is in memory the positional read is the loss, half a microsecond. Therefore one slow read
 * outweighs very many fast ones: it adds {@link #SLOW_WEIGHT} to a score from which each fast
 * positional read takes one away, and as long as any is left all reads are positional. A score
 * instead of a mere count of fast reads lets a now and then interrupted thread still find its way
 * back to the mapping.
 *
 * <p>Starts cold: a store that was just opened is likely to be, and if not, this is soon known.
 *
 * <p>Thread safe. As long as the data is in memory nothing is written, so the line stays shared.
 */
final class Residency {
  /** Fast positional reads that outweigh a slow one. */
  static final int SLOW_WEIGHT = 1024;

  private static final int SCORE_MAX = 4 * SLOW_WEIGHT;

  /** Hardly a device answers faster, and a read from memory rarely takes longer. */
  private static final long SLOW_NANOS = 15_000;

  private final AtomicInteger score = new AtomicInteger(SLOW_WEIGHT);

  /** Whether reads are to be positional. */
  boolean isCold() {
    return score.get() > 0;
  }

  /**
   * Takes note of how long it took to read some bytes, through a mapping or not.
   *
   * @return whether they must have come from the device
   */
  boolean note(long nanos, int bytes) {
    // Copying and checking runs at more than a byte a nanosecond.
    boolean slow = nanos > SLOW_NANOS + bytes;
    int now = score.get();
    if (slow) {
      // Of updates that meet, one may be lost: the next read makes up for it.
      score.compareAndSet(now, Math.min(SCORE_MAX, now + SLOW_WEIGHT));
    } else if (now > 0) {
      score.compareAndSet(now, now - 1);
    }
    return slow;
  }
}
