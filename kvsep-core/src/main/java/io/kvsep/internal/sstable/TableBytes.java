package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * A mapped table file for its parts: filter, index, blocks. {@link TableReader} owns it.
 *
 * @param name for errors
 * @param mapping the whole file
 * @param checksumSeed mixed into all checksums of the table
 */
record TableBytes(String name, Region mapping, long checksumSeed, ColdReadPolicy cold) {
  /** Does nothing in a warm store. */
  void load(long offset, long count) {
    cold.load(mapping, offset, count);
  }

  /**
   * As {@link #load}; ensures that the range is readable.
   *
   * @throws InternalError if a page cannot be read
   */
  void require(long offset, long count, NativeWindow window) {
    cold.load(mapping, offset, count);
    window.requireReadable(mapping, offset, count);
  }
}
