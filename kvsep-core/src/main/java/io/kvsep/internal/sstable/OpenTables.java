package io.kvsep.internal.sstable;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the open table readers and unpacked blocks of one or more stores. Each store has its own
 * {@link TableCache} on it. Thread safe.
 */
public final class OpenTables {
  private final ReaderCache<TableReader> readers;
  private final ReaderCache<CachedBlock> blocks;
  private final long unfreedBlockBytesMax;
  private final AtomicLong blockBytes = new AtomicLong();

  public OpenTables(long readerBytesMax, long blockBytesMax) {
    readers = new ReaderCache<>(readerBytesMax);
    blocks = new ReaderCache<>(blockBytesMax);
    // The sum may overflow.
    unfreedBlockBytesMax = Math.max(blockBytesMax, blockBytesMax + blockBytesMax / 4);
  }

  ReaderCache<TableReader> readers() {
    return readers;
  }

  ReaderCache<CachedBlock> blocks() {
    return blocks;
  }

  /** Whether another block fits, counting those evicted but not freed yet. */
  boolean hasRoomForBlock() {
    return blockBytes.get() <= unfreedBlockBytesMax;
  }

  void addBlockBytes(long bytes) {
    blockBytes.addAndGet(bytes);
  }
}
