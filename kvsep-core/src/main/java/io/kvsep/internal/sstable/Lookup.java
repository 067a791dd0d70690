package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Takes the result of {@link TableReader#get}, so that a lookup allocates nothing. One per reader;
 * not thread safe. The payload lies in the table's mapping, in a cached block, or in memory of the
 * lookup itself, and is readable as long as the reader stays inside the epochs and looks nothing
 * else up.
 */
public final class Lookup implements AutoCloseable {
  /** What is kept for the next packed block that nobody caches. */
  private static final int KEPT_BYTES_MAX = 16 << 10;

  /** One search for nothing in so many lookups costs next to nothing, if they are in memory. */
  private static final int HITS_MIN = 256;

  /** Tag of the entry found. */
  public long tag;

  /** Where the payload lies; null until a lookup succeeded. */
  public @Nullable Region payloadRegion;

  public long payloadOffset;
  public int payloadLength;

  final BlockView block = new BlockView();

  /** Takes a packed block where the cache has no room for one. */
  final GrowingRegion unpacked;

  /** Takes a block of a filter. */
  final long[] filterLine = new long[Region.LINE_LONGS];

  /** Lookups in a row that found something in a table below which there is none. */
  private int lastHits;

  public Lookup(MemoryLedger ledger) {
    unpacked = new GrowingRegion(ledger, MemoryPurpose.READ);
  }

  /** Between two lookups. */
  public void trim() {
    if (unpacked.capacity() > KEPT_BYTES_MAX) {
      unpacked.close();
    }
  }

  @Override
  public void close() {
    unpacked.close();
  }

  /** Whether a payload that was found lies in memory that the next lookup may overwrite. */
  public boolean isOwn(Region payload) {
    return unpacked.isIn(payload);
  }

  /** Whether nearly all keys that are looked up are there, and asking whether they are is waste. */
  boolean expectsHit() {
    return lastHits == HITS_MIN;
  }

  /** Says what came of looking into a table below which there is none. */
  void noteLast(boolean found) {
    lastHits = found ? Math.min(lastHits + 1, HITS_MIN) : 0;
  }

  /** Packed blocks looked into so far; any thread may ask. */
  public long packedReads() {
    return block.packedReads.getOpaque();
  }
}
