package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.List;

/**
 * Blocks of a table whose index does not hold, found by their checksums: from where a block may
 * begin, each place is tried where it may end. What stands in front of the checksum there has to be
 * a number of restarts, and the first of these zero, or the mark of a packed block, so that few
 * checksums have to be computed. Blocks above 64 KiB are not found.
 */
final class FoundBlocks implements BlockPlaces {
  private static final int LENGTH_MAX = 64 << 10;

  /** The shortest entry, a restart and the trailer. */
  private static final int LENGTH_MIN = 5 + TableFormat.RESTART_BYTES + 8;

  /** So many places without a block, and there is none any more. */
  private static final int MISSES_MAX = 16 << 10;

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
    long at = TableFormat.HEADER_BYTES;
    int misses = 0;
    while (limit - at >= LENGTH_MIN && misses < MISSES_MAX) {
      pulse.run();
      long end = endOf(at, limit);
      if (end < 0) {
        at++;
        misses++;
      } else {
        places.add(new Place(at, end));
        at = end;
        misses = 0;
      }
    }
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
