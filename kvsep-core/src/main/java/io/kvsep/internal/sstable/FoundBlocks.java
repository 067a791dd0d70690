package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of a table whose index does not hold, found by their checksums: each place is tried where
 * the block behind the last one may end. What stands in front of the checksum there has to be a
 * number of restarts, and the first of these zero, or the mark of a packed block, so that few
 * checksums have to be computed. Where no block begins, what is behind the gap is found by its end:
 * from the next place that may be one, each beginning is tried, which takes up to half a second.
 */
final class FoundBlocks implements BlockPlaces {
  /** The longest key and the longest value beside it, one behind a block that was nearly full. */
  private static final int LENGTH_MAX = 192 << 10;

  /** The shortest entry, a restart and the trailer. */
  private static final int LENGTH_MIN = 5 + TableFormat.RESTART_BYTES + 8;

  /** So many places look like the end of a block and are none, and there is none any more. */
  private static final int MISSES_MAX = 256;

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
      int restarts = table.getInt(end - TableFormat.BLOCK_TRAILER_BYTES);
      if (mayEnd(table, start, end, restarts) && holds(table, start, end)) {
        return end;
      }
    }
    return -1;
  }

  private @Nullable Place behindGap(long from, long limit, Runnable pulse) {
    Region table = bytes.mapping();
    int misses = 0;
    for (long end = from + LENGTH_MIN; end <= limit && misses < MISSES_MAX; end++) {
      int restarts = table.getInt(end - TableFormat.BLOCK_TRAILER_BYTES);
      long first = Math.max(from, end - LENGTH_MAX);
      if (!mayEnd(table, first, end, restarts)) {
        continue;
      }
      for (long start = first; end - start >= LENGTH_MIN; start++) {
        pulse.run();
        if (mayEnd(table, start, end, restarts) && holds(table, start, end)) {
          return new Place(start, end);
        }
      }
      misses++;
    }
    return null;
  }

  private static boolean mayEnd(Region table, long start, long end, int restarts) {
    if (restarts == PackedBlock.MARK) {
      return true;
    }
    long trailer = end - TableFormat.BLOCK_TRAILER_BYTES;
    return restarts >= 1
        && restarts < (trailer - start) / TableFormat.RESTART_BYTES
        && table.getInt(trailer - (long) TableFormat.RESTART_BYTES * restarts) == 0;
  }

  private boolean holds(Region table, long start, long end) {
    int found =
        TableFormat.checksum(
            window.crc32c(table, start, end - 4 - start), bytes.checksumSeed(), start);
    return table.getInt(end - 4) == found;
  }
}
