package io.kvsep.internal.vlog;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Decides whether records are read through the mapping alone, or looked for in memory first and,
 * where they are not there, brought there by a positional read: the one place for that policy.
 * Figures: docs/decisions/0008 and 0016.
 *
 * <p>A page fault on a mapping reads around itself, up to the device's read-ahead of several
 * megabytes, where a positional read fetches no more than it was asked for. So for data that is not
 * in memory the mapping costs thousands of microseconds a record instead of some fifty. For data
 * that is in memory, asking the system whether it is costs most of a microsecond. Therefore one
 * read from the device outweighs very many others: it adds {@link #SLOW_WEIGHT} to a score from
 * which each record that is found in memory takes one away, and as long as any is left the system
 * is asked for each.
 *
 * <p>While there is no score, only the time tells that a read was from the device, and a thread
 * that lost its processor looks the same. So a slow read is merely a reason to ask the system for
 * some records. While it is asked, a read counts as slow only if the system said so before, too:
 * otherwise interruptions alone, one in a thousand reads, would keep the score up.
 *
 * <p>Starts cold: a store that was just opened is likely to be, and if not, this is soon known.
 *
 * <p>Thread safe. As long as the data is in memory nothing is written, so the line stays shared.
 */
final class Residency {
  /** Records found in memory that outweigh one from the device. */
  static final int SLOW_WEIGHT = 1024;

  /** Records that are looked for after a slow read, which may have been an interruption. */
  static final int SUSPICION = 64;

  private static final int SCORE_MAX = 4 * SLOW_WEIGHT;

  /** Hardly a device answers faster, and a read from memory rarely takes longer. */
  private static final long SLOW_NANOS = 15_000;

  private final AtomicInteger score = new AtomicInteger(SLOW_WEIGHT);

  /** Whether to look for records in memory before they are read through the mapping. */
  boolean isCold() {
    return score.get() > 0;
  }

  /** Whether reading so many bytes took so long that they are likely to be from the device. */
  static boolean isSlow(long nanos, int bytes) {
    // Copying and checking runs at more than a byte a nanosecond.
    return nanos > SLOW_NANOS + bytes;
  }

  /** Takes note of a read that took as long as one from the device, of which nobody had asked. */
  void suspect() {
    score.compareAndSet(0, SUSPICION);
  }

  /** Takes note of a read from the device, or from memory, after the system was asked. */
  void note(boolean slow) {
    int now = score.get();
    // Of updates that meet, one may be lost: the next read makes up for it.
    if (slow) {
      score.compareAndSet(now, Math.min(SCORE_MAX, now + SLOW_WEIGHT));
    } else if (now > 0) {
      score.compareAndSet(now, now - 1);
    }
  }
}
