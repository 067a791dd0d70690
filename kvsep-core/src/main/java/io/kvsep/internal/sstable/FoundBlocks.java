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
 * Blocks of a table whose index does not hold, found by their checksums: each place is tried where
 * the block behind the last one may end. What stands in front of the checksum there has to be what
 * a block has at its end, so that few checksums have to be computed. Where no block begins, what is
 * behind the gap is found by its end: from the next place that may be one, each beginning is tried
 * at which an entry may stand, the nearest first. What looks like the ends of blocks and is none,
 * such as the index itself, costs about a second before the search ends.
 */
final class FoundBlocks implements BlockPlaces {
  /** The longest key and the longest value beside it, one behind a block that was nearly full. */
  private static final int LENGTH_MAX = 192 << 10;

  /** The shortest entry, a restart and the trailer. */
  private static final int LENGTH_MIN = 5 + TableFormat.RESTART_BYTES + 8;

  /** Bytes of which checksums are computed to get over a gap; there is no block any more then. */
  private static final long GAP_WORK_MAX = 4L << 30;

  /** Bytes whose checksum takes as long as a look at a place where a block may begin. */
  private static final int LOOK_BYTES = 16;

  private record Place(long start, long end) {}

  private final TableBytes bytes;
  private final NativeWindow window = new NativeWindow();
  private final List<Place> places = new ArrayList<>();

  /**
   * Searches up to {@code limit}.
   *
   * @param pulse is called between places and may throw to give up
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
  public int count() {
    return places.size();
  }

  @Override
  public long start(int block) {
    return places.get(block).start();
  }

  @Override
  public long end(int block) {
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
   * From where on, at or behind {@code from}, a block may begin that ends at {@code end}; the end
   * itself where none ends.
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

  /** Whether these may be restarts: the first entry is one. */
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

  /** Whether a block that ends where one may end has its first entry here, by the looks of it. */
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
   * Whether an entry that shares no bytes may stand here; eight bytes behind the limit are there.
   */
  private static boolean mayBeEntry(Region table, long start, long limit) {
    if (table.getByte(start) != 0) {
      return false;
    }
    // Both lengths are below 2^21, so that they take up to three bytes each.
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
    // A kind and a sequence number at least.
    return tail >= 2 && tail <= limit - kindAt && Tag.isKnown(table.getByte(kindAt));
  }

  private boolean holds(Region table, long start, long end) {
    int found =
        TableFormat.checksum(
            window.crc32c(table, start, end - 4 - start), bytes.checksumSeed(), start);
    return table.getInt(end - 4) == found;
  }
}
