package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * A table's file as it lies in memory.
 *
 * @param name for errors
 * @param mapping all of it
 * @param checksumSeed what its checksums are mixed with
 * @param cold whether pages are loaded before they are touched
 */
record TableBytes(String name, Region mapping, long checksumSeed, ColdReadPolicy cold) {
  /** Brings a range into memory in a cold store. */
  void load(long offset, long count) {
    cold.load(mapping, offset, count);
  }

  /**
   * As {@link #load}; and sees to it that the range can be read.
   *
   * @throws InternalError for a page that cannot be read
   */
  void require(long offset, long count, NativeWindow window) {
    cold.load(mapping, offset, count);
    window.requireReadable(mapping, offset, count);
  }
}
