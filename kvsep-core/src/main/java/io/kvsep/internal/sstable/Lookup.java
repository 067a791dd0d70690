package io.kvsep.internal.sstable;

import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;

/**
 * Receives the entry found by {@link TableReader#get} without allocation. One per reader; not
 * thread safe. The payload, in the table's mapping, a cached block or memory of this object, is
 * readable while the reader stays inside the epochs and starts no other lookup.
 */
public final class Lookup extends Position implements AutoCloseable {
  /** Capacity kept between lookups for uncached packed blocks. */
  private static final int KEPT_BYTES_MAX = 16 << 10;

  /** A wasted search in this many lookups costs next to nothing if the table is in memory. */
  private static final int HITS_MIN = 256;

  final BlockView block = new BlockView();

  /** Receives a packed block if the cache is full. */
  final GrowingRegion unpacked;

  final long[] filterLine = new long[Region.LINE_LONGS];

  /** Consecutive hits in tables with no table below. */
  private int lastHits;

  public Lookup(MemoryLedger ledger) {
    unpacked = new GrowingRegion(ledger, MemoryPurpose.READ);
    // With the slot, not at its first use: see Epochs.
    block.packed();
  }

  /** Called between lookups. */
  public void trim() {
    if (unpacked.capacity() > KEPT_BYTES_MAX) {
      unpacked.close();
    }
  }

  @Override
  public void close() {
    unpacked.close();
  }

  /** Whether the next lookup may overwrite the payload's memory. */
  public boolean isOwn(Region payload) {
    return unpacked.isIn(payload);
  }

  /** Whether nearly all keys exist, so that the filter is not worth its cost. */
  boolean expectsHit() {
    return lastHits == HITS_MIN;
  }

  /** Records a lookup in a table with no table below. */
  void noteLast(boolean found) {
    lastHits = found ? Math.min(lastHits + 1, HITS_MIN) : 0;
  }

  /** Any thread may call this. */
  public long packedReads() {
    return block.packedReads.getOpaque();
  }
}
