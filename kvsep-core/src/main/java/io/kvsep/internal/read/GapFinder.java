package io.kvsep.internal.read;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.EntryPredicate;
import io.kvsep.internal.read.KnownGaps.Gap;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.ReadState;
import java.time.Clock;
import java.util.Arrays;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * One iterator's use of gaps: skips those that still hold and records new ones. A run is the dead
 * keys that one move steps over, tracked from {@link #LOOK_KEYS} on: other moves cost nothing.
 *
 * <p>Not thread safe. The iterator's read state must stay retained.
 */
final class GapFinder {
  /** A move looks for a gap after each such number of dead keys. */
  static final int LOOK_KEYS = 8;

  /** Runs of at least this many dead keys become gaps. */
  static final int KEEP_KEYS = 3 * LOOK_KEYS;

  /** A gap is updated after this many new entries. */
  private static final int REFRESH_ENTRIES = 16;

  /** A gap with more new keys than this is dropped. */
  private static final int PUTS_MAX = 16;

  private final KnownGaps gaps;
  private final ReadState readState;
  private final long sequence;
  private final @Nullable MemtableHighWater mark;
  private final Clock clock;

  // The run: its start (backward: end), and what is known of it.
  private byte @Nullable [] edge;
  private long leaptKeys;
  private long expiredAt;

  /**
   * @param sequence the sequence number read at
   * @param mark all entries above {@code sequence} are after it; null to record no gap
   */
  GapFinder(
      KnownGaps gaps,
      ReadState readState,
      long sequence,
      @Nullable MemtableHighWater mark,
      Clock clock) {
    this.gaps = gaps;
    this.readState = readState;
    this.sequence = sequence;
    this.mark = mark;
    this.clock = clock;
  }

  void passedExpired(long expiresAtMillis) {
    expiredAt = Math.max(expiredAt, expiresAtMillis);
  }

  /** Ends a move, with or without a run. */
  void endRun(long deadKeys) {
    gaps.stepped(deadKeys);
    edge = null;
    leaptKeys = 0;
    expiredAt = 0;
  }

  /**
   * The known gap around a key, which may be skipped; null for none.
   *
   * @param key the position; all keys since the start of the move are dead
   */
  @Nullable Gap around(byte[] key, boolean forward) {
    Gap gap = holding(gaps.around(key), key);
    byte[] known = edge;
    if (known == null) {
      // If this key is alive, the run is empty.
      known = forward ? key : behind(key);
    }
    if (gap != null) {
      leaptKeys += gap.keys();
      passedExpired(gap.expiredAt());
      byte[] end = forward ? gap.from() : gap.to();
      int order = Arrays.compareUnsigned(end, known);
      known = (forward ? order < 0 : order > 0) ? end : known;
    }
    edge = known;
    return gap;
  }

  /**
   * Records the run as a gap.
   *
   * @param end the iterator's position: a key after the gap, or the first one in it
   */
  void keep(byte[] end, boolean forward, long deadKeys) {
    byte[] begun = edge;
    MemtableHighWater since = mark;
    if (begun != null && since != null) {
      byte[] from = forward ? begun : end;
      byte[] to = forward ? end : begun;
      gaps.add(new Gap(from, to, leaptKeys + deadKeys, sequence, expiredAt, since));
    }
  }

  /** The part of a gap around the key that this reader may skip; null for none. */
  private @Nullable Gap holding(@Nullable Gap gap, byte[] key) {
    if (gap == null || gap.sequence() > sequence || gap.expiredAt() > clock.millis()) {
      return null;
    }
    int index = gap.mark().indexIn(readState);
    if (index < 0) {
      return null;
    }
    long entries = gap.mark().entriesSince(readState, index);
    if (entries > Math.max(REFRESH_ENTRIES, gap.keys())) {
      // Stepping over the dead keys is as cheap.
      return null;
    }
    TreeSet<byte[]> puts = new TreeSet<>(Arrays::compareUnsigned);
    if (entries > 0 && gap.mark().anySince(readState, index, collect(puts, gap))) {
      gaps.remove(gap);
      return null;
    }
    return puts.isEmpty() && entries < REFRESH_ENTRIES ? gap : divide(gap, puts, key);
  }

  private static EntryPredicate collect(TreeSet<byte[]> puts, Gap gap) {
    return (arena, offset, length, tag) -> {
      if (Tag.kind(tag) == Tag.DELETE || !isWithin(gap, arena, offset, length)) {
        return false;
      }
      puts.add(arena.getBytes(offset, length));
      return puts.size() > PUTS_MAX;
    };
  }

  private static boolean isWithin(Gap gap, Region key, long offset, int length) {
    return key.compareTo(offset, length, gap.from()) >= 0
        && key.compareTo(offset, length, gap.to()) < 0;
  }

  /** Replaces a gap by its parts; returns the one around the key, null for none. */
  private @Nullable Gap divide(Gap gap, TreeSet<byte[]> puts, byte[] key) {
    if (mark != null) {
      gaps.remove(gap);
    }
    Gap found = null;
    byte[] from = gap.from();
    for (byte[] put : puts) {
      found = part(gap, from, put, puts.size(), key, found);
      from = behind(put);
    }
    return part(gap, from, gap.to(), puts.size(), key, found);
  }

  private @Nullable Gap part(
      Gap gap, byte[] from, byte[] to, int cuts, byte[] key, @Nullable Gap found) {
    MemtableHighWater since = mark;
    Gap part =
        new Gap(
            from,
            to,
            gap.keys() / (cuts + 1),
            since == null ? gap.sequence() : sequence,
            gap.expiredAt(),
            since == null ? gap.mark() : since);
    if (since != null) {
      gaps.add(part);
    }
    return Arrays.compareUnsigned(from, key) <= 0 && Arrays.compareUnsigned(key, to) < 0
        ? part
        : found;
  }

  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }
}
