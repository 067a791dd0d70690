package io.kvsep.internal.read;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.EntryTest;
import io.kvsep.internal.read.KnownGaps.Gap;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.ReadState;
import java.time.Clock;
import java.util.Arrays;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What one walk does with gaps: it leaps over those that are known and still hold, and makes those
 * known that it has met. A run is what one move of the walk steps over; it begins when that was
 * some dead keys already, so that other moves do nothing for this.
 *
 * <p>Not thread safe; the walk retains the view.
 */
final class GapFinder {
  /** A move asks for a gap after so many dead keys, and again after as many more. */
  static final int LOOK_KEYS = 8;

  /** Dead keys in a run from which on its gap is worth keeping. */
  static final int KEEP_KEYS = 3 * LOOK_KEYS;

  /** After so many entries that came since it was met, a gap is brought up to date. */
  private static final int REFRESH_ENTRIES = 16;

  /** A gap into which more keys were put since is given up. */
  private static final int PUTS_MAX = 16;

  private final KnownGaps gaps;
  private final ReadState view;
  private final long sequence;
  private final @Nullable MemtableHighWater mark;
  private final Clock clock;

  // The run: what it begins at, or for a walk back ends at, and what is known of it so far.
  private byte @Nullable [] edge;
  private long leaptKeys;
  private long expiredAt;

  /**
   * @param sequence what is read at
   * @param mark all entries above that stand behind it; null if that is not known, then no gap is
   *     kept
   */
  GapFinder(
      KnownGaps gaps,
      ReadState view,
      long sequence,
      @Nullable MemtableHighWater mark,
      Clock clock) {
    this.gaps = gaps;
    this.view = view;
    this.sequence = sequence;
    this.mark = mark;
    this.clock = clock;
  }

  /** The walk has passed an entry because it is expired. */
  void passedExpired(long expiresAtMillis) {
    expiredAt = Math.max(expiredAt, expiresAtMillis);
  }

  /** A move is at its end, whether or not a run had begun. */
  void endRun(long deadKeys) {
    gaps.stepped(deadKeys);
    edge = null;
    leaptKeys = 0;
    expiredAt = 0;
  }

  /**
   * The known gap that a key is in, null for none. The walk may go on behind it, or in front of it.
   *
   * @param key where the walk is; all keys between the one where the move began and this one are
   *     dead
   */
  @Nullable Gap around(byte[] key, boolean forward) {
    Gap gap = holding(gaps.around(key), key);
    byte[] known = edge;
    if (known == null) {
      // If this key is not dead, the run ends here, and is empty.
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
   * Keeps the gap of the run.
   *
   * @param end what the walk has come to; a key behind the gap, or the first one in it
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

  /** The part of a gap that a key is in, as it is for this reader; null where it is not known. */
  private @Nullable Gap holding(@Nullable Gap gap, byte[] key) {
    if (gap == null || gap.sequence() > sequence || gap.expiredAt() > clock.millis()) {
      return null;
    }
    int index = gap.mark().indexIn(view);
    if (index < 0) {
      return null;
    }
    long entries = gap.mark().entriesSince(view, index);
    if (entries > Math.max(REFRESH_ENTRIES, gap.keys())) {
      // To step over the dead keys takes no longer.
      return null;
    }
    TreeSet<byte[]> puts = new TreeSet<>(Arrays::compareUnsigned);
    if (entries > 0 && gap.mark().anySince(view, index, collect(puts, gap))) {
      gaps.remove(gap);
      return null;
    }
    return puts.isEmpty() && entries < REFRESH_ENTRIES ? gap : divide(gap, puts, key);
  }

  /** Collects the keys that were put into a gap; yes when they are too many. */
  private static EntryTest collect(TreeSet<byte[]> puts, Gap gap) {
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

  /** Puts what is left of a gap in its place; that part of it that a key is in, null for none. */
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

  /** The first key behind one. */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }
}
