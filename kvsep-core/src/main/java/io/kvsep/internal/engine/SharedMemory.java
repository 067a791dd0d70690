package io.kvsep.internal.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemtableBudget;
import io.kvsep.internal.memory.ScratchBudget;
import io.kvsep.internal.memory.StoreMemory;
import io.kvsep.internal.sstable.OpenTables;
import io.kvsep.internal.vlog.ValueReader;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The memory that one or more stores share: for memtables and bulk loads, for frames being encoded,
 * for values being read, and for open tables. See docs/decisions/16. Thread safe.
 */
public final class SharedMemory {
  /** Longer than the longest entry of a memtable. */
  private static final long MEMTABLE_BYTES_MIN = 256 << 10;

  private final MemtableBudget memtables;
  private final ScratchBudget commits;
  private final ScratchBudget reads;
  private final OpenTables tables;
  private final int storesMax;

  @GuardedBy("this")
  private final Set<MemoryLedger> ledgers = new HashSet<>();

  @GuardedBy("this")
  private boolean closed;

  /** For one store. */
  SharedMemory(Shape shape) {
    this(shape, 1);
  }

  /**
   * @param shape limits for all stores together
   * @param storesMax stores open at the same time
   */
  public SharedMemory(Shape shape, int storesMax) {
    this.storesMax = storesMax;
    long memtable = shape.memtables().bytes();
    // A bulk load takes half as much as a memtable. Many stores have many log buffers besides.
    long most =
        shape.memtables().countMax() * memtable + (storesMax == 1 ? memtable / 2 : -memtable / 2);
    memtables = new MemtableBudget(most, Math.min(MEMTABLE_BYTES_MIN, memtable));
    long kept = shape.keptBytesMax();
    commits = new ScratchBudget(shape.commits().bytesMax(), kept, shape.commits().slotBytesMax());
    long slotBytesMax = ValueReader.SLOT_BYTES_MAX;
    // At least one read can always proceed.
    reads = new ScratchBudget(Math.max(kept, slotBytesMax), kept, slotBytesMax);
    tables = new OpenTables(shape.caches().readerBytesMax(), shape.caches().blockBytesMax());
  }

  /** Admits a store; it must {@link #leave}. */
  synchronized StoreMemory join() {
    if (closed) {
      throw new IllegalStateException("the resources are closed");
    }
    if (ledgers.size() >= storesMax) {
      throw new IllegalStateException(
          "the memory budget suffices for " + storesMax + " open stores");
    }
    MemoryLedger ledger = new MemoryLedger();
    ledgers.add(ledger);
    return new StoreMemory(ledger, memtables.join(), commits, reads);
  }

  /** Ends the use by a store that holds nothing any more; further calls have no effect. */
  synchronized void leave(@Nullable StoreMemory memory) {
    if (memory != null) {
      memory.memtables().close();
      ledgers.remove(memory.ledger());
    }
  }

  OpenTables tables() {
    return tables;
  }

  /** Off-heap bytes that the stores hold, by printed purpose. */
  public synchronized Map<String, Long> bytesByPurpose() {
    Map<String, Long> bytes = new HashMap<>(new MemoryLedger().bytesByPurpose());
    for (MemoryLedger ledger : ledgers) {
      ledger.bytesByPurpose().forEach((purpose, held) -> bytes.merge(purpose, held, Long::sum));
    }
    return bytes;
  }

  /** Admits no more stores. */
  public synchronized void close() {
    if (!ledgers.isEmpty()) {
      throw new IllegalStateException(ledgers.size() + " stores still use the resources");
    }
    closed = true;
  }
}
