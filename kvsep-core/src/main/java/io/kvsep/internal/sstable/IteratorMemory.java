package io.kvsep.internal.sstable;

import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;

/**
 * What a {@link TableIterator} needs besides the table. One iterator after the other may use it; a
 * closed one has forgotten it. Not thread safe.
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

  /** Leaves a little. A page fault may surface in any step, so each runs whatever others do. */
  void trim(CleanupSteps steps) {
    steps.run(unpacked::close);
    if (key.capacity() > KEPT_KEY_BYTES_MAX) {
      steps.run(key::close);
    }
    block.forget();
  }

  @Override
  public void close() {
    CleanupSteps closes = new CleanupSteps();
    closes.run(key::close);
    closes.run(unpacked::close);
    closes.throwFirst();
  }
}
