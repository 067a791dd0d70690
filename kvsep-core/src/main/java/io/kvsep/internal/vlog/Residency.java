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
 * <p>While more than one record in nine comes from the device, nobody asks, and each is read by
 * position: that costs no more than the question, and leaves nothing mapped that the system has to
 * unmap. The time alone tells then, but interruptions are far too few to keep that up.
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

  /** Records found in memory that are as many as one from the device is few. */
  private static final int SHARE_WEIGHT = 8;

  private static final int SHARE_ASKED_MAX = 512;

  static final int SHARE_MAX = 1024;

  /** Hardly a device answers faster, and a read from memory rarely takes longer. */
  private static final long SLOW_NANOS = 15_000;

  private final AtomicInteger score = new AtomicInteger(SLOW_WEIGHT);

  /** Goes up while more than one record in nine comes from the device, and else down. */
  private final AtomicInteger share = new AtomicInteger();

  /** Whether to look for records in memory before they are read through the mapping. */
  boolean isCold() {
    return score.get() > 0;
  }

  /**
   * Whether so many records come from the device that it is not worth asking: a positional read
   * takes about as long, and what is mapped has to be unmapped again when the system needs the
   * memory. May be wrong for a while, which costs a copy.
   */
  boolean isMostlyCold() {
    return share.get() > SHARE_ASKED_MAX;
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

  /** Takes note of a read from the device, or from memory, while it is cold. */
  void note(boolean slow) {
    noteShare(slow);
    int now = score.get();
    // Of updates that meet, one may be lost: the next read makes up for it.
    if (slow) {
      score.compareAndSet(now, Math.min(SCORE_MAX, now + SLOW_WEIGHT));
    } else if (now > 0) {
      score.compareAndSet(now, now - 1);
    }
  }

  private void noteShare(boolean slow) {
    int now = share.get();
    int next = slow ? Math.min(SHARE_MAX, now + SHARE_WEIGHT) : Math.max(0, now - 1);
    if (next != now) {
      share.compareAndSet(now, next);
    }
  }
}
