package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;

/**
 * What a {@link TableIterator} needs besides the table. One iterator after the other may use it.
 * Not thread safe.
 */
final class IteratorMemory implements AutoCloseable {
  private static final int KEPT_KEY_BYTES_MAX = 128;

  final BlockView block = new BlockView();

  /** The current key, put together. */
  final GrowingRegion key;

  /** Holds the current block if it is packed. */
  final GrowingRegion unpacked;

  IteratorMemory(MemoryLedger ledger) {
    key = new GrowingRegion(ledger, MemoryPurpose.READ);
    unpacked = new GrowingRegion(ledger, MemoryPurpose.READ);
  }

  /** Frees what takes more than a little. */
  void trim() {
    if (key.capacity() > KEPT_KEY_BYTES_MAX) {
      key.close();
    }
    unpacked.close();
  }

  @Override
  public void close() {
    key.close();
    unpacked.close();
  }
}
