package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the blocks of a table with a damaged index by their checksums. Tries every possible end of
 * the block after the last one; what precedes the checksum rules most out. If no block starts
 * there, tries every possible start, nearest first, for each possible end of the next one. Bytes
 * that only look like block ends, such as the index, cost about a second before the search ends.
 */
final class FoundBlocks implements BlockPlaces {
  /** The longest key with the longest inline value, after a nearly full block. */
  private static final int LENGTH_MAX = 192 << 10;

  /** Shortest entry, one restart and the trailer. */
  private static final int LENGTH_MIN = 5 + TableFormat.RESTART_BYTES + 8;

  /** Bytes of checksum work per gap; the rest is assumed to hold no block. */
  private static final long GAP_WORK_MAX = 4L << 30;

  /** Bytes of checksum work that test one start. */
  private static final int LOOK_BYTES = 16;

  private record Place(long start, long end) {}

  private final TableBytes bytes;
  private final NativeWindow window = new NativeWindow();
  private final List<Place> places = new ArrayList<>();

  /**
   * @param pulse called between candidates; may throw to cancel
   */
  FoundBlocks(TableBytes bytes, long limit, Runnable pulse) {
    this.bytes = bytes;
    Place found = next(TableFormat.HEADER_BYTES, limit, pulse);
    while (found != null) {
      places.add(found);
      found = next(found.end, limit, pulse);
    }
  }

  private @Nullable Place next(long from, long limit, Runnable pulse) {
    pulse.run();
    long end = endOf(from, limit);
    return end < 0 ? behindGap(from, limit, pulse) : new Place(from, end);
  }

  @Override
  public int blockCount() {
    return places.size();
  }

  @Override
  public long blockStart(int block) {
    return places.get(block).start();
  }

  @Override
  public long blockEnd(int block) {
    return places.get(block).end();
  }

  private long endOf(long start, long limit) {
    Region table = bytes.mapping();
    long last = Math.min(limit, start + LENGTH_MAX);
    for (long end = start + LENGTH_MIN; end <= last; end++) {
      if (earliest(table, start, end) == start
          && mayBegin(table, start, end)
          && holds(table, start, end)) {
        return end;
      }
    }
    return -1;
  }

  private @Nullable Place behindGap(long from, long limit, Runnable pulse) {
    Region table = bytes.mapping();
    long work = 0;
    for (long end = from + LENGTH_MIN; end <= limit && work < GAP_WORK_MAX; end++) {
      long first = earliest(table, from, end);
      if (first > end - LENGTH_MIN) {
        continue;
      }
      pulse.run();
      for (long start = end - LENGTH_MIN; start >= first && work < GAP_WORK_MAX; start--) {
        work += LOOK_BYTES;
        if (mayBegin(table, start, end)) {
          pulse.run();
          work += end - start;
          if (holds(table, start, end)) {
            return new Place(start, end);
          }
        }
      }
    }
    return null;
  }

  /**
   * Lowest possible start, from {@code from} on, of a block that ends at {@code end}; {@code end}
   * if none.
   */
  private static long earliest(Region table, long from, long end) {
    long first = Math.max(from, end - LENGTH_MAX);
    long trailer = end - TableFormat.BLOCK_TRAILER_BYTES;
    int restarts = table.getInt(trailer);
    if (restarts == PackedBlock.MARK) {
      return Math.max(first, end - PackedBlock.lengthMax(table, trailer));
    }
    boolean mayEnd =
        restarts >= 1
            && restarts < (trailer - first) / TableFormat.RESTART_BYTES
            && ascend(table, trailer - (long) TableFormat.RESTART_BYTES * restarts, restarts);
    return mayEnd ? first : end;
  }

  /** Whether these may be restarts: ascending from 0. */
  private static boolean ascend(Region table, long at, int restarts) {
    int last = table.getInt(at);
    if (last != 0) {
      return false;
    }
    for (int i = 1; i < restarts; i++) {
      int next = table.getInt(at + (long) TableFormat.RESTART_BYTES * i);
      if (next <= last) {
        return false;
      }
      last = next;
    }
    return true;
  }

  /** Whether a block that may end at {@code end} may begin here. */
  private static boolean mayBegin(Region table, long start, long end) {
    long trailer = end - TableFormat.BLOCK_TRAILER_BYTES;
    int restarts = table.getInt(trailer);
    if (restarts == PackedBlock.MARK) {
      return PackedBlock.mayBegin(table, start, trailer);
    }
    long limit = trailer - (long) TableFormat.RESTART_BYTES * restarts;
    int lastRestart = table.getInt(trailer - TableFormat.RESTART_BYTES);
    return start < limit - lastRestart && mayBeEntry(table, start, limit);
  }

  /**
   * Whether an entry that shares no bytes may be here. Eight bytes after the limit are readable.
   */
  private static boolean mayBeEntry(Region table, long start, long limit) {
    if (table.getByte(start) != 0) {
      return false;
    }
    // Both lengths are below 2^21, so up to three bytes each.
    long word = table.getLong(start + 1);
    long ends = Varint.ends(word);
    long keyLength = Varint.first(word, ends);
    int keyLengthBytes = Varint.lengthTo(ends);
    if (ends == 0 || keyLength < 1 || keyLength > Limits.STORED_KEY_BYTES_MAX) {
      return false;
    }
    word >>>= 8 * keyLengthBytes;
    ends = Varint.ends(word);
    long tail = Varint.first(word, ends);
    long kindAt = start + 1 + keyLengthBytes + Varint.lengthTo(ends) + keyLength;
    // At least a kind and a sequence number.
    return tail >= 2 && tail <= limit - kindAt && Tag.isKnown(table.getByte(kindAt));
  }

  private boolean holds(Region table, long start, long end) {
    int found =
        TableFormat.checksum(
            window.crc32c(table, start, end - 4 - start), bytes.checksumSeed(), start);
    return table.getInt(end - 4) == found;
  }
}
