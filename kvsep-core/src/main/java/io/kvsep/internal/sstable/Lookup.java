package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Takes the result of {@link TableReader#get}, so that a lookup allocates nothing. One per reader;
 * not thread safe. The payload lies in the table's mapping or in a cached block, and is readable as
 * long as the reader stays inside the epochs.
 */
public final class Lookup {
  /** Tag of the entry found. */
  public long tag;

  /** Where the payload lies; null until a lookup succeeded. */
  public @Nullable Region payloadRegion;

  public long payloadOffset;
  public int payloadLength;

  final BlockView block = new BlockView();

  /** Packed blocks looked into so far; any thread may ask. */
  public long packedReads() {
    return block.packedReads.getOpaque();
  }
}
