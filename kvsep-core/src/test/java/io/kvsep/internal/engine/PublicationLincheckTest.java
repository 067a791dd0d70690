package io.kvsep.internal.engine;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.view.ReadState.SharedMemtable;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.internal.vlog.ValueReader;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Lincheck;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The reading half of an engine beside a writer whose batches begin in one memtable and end in
 * another, and beside a collector that drops memtables that no snapshot and no later reader needs,
 * as compaction does. A reader that met a view without something of its moment, a moment before
 * what its view was cleared up to, or a view that has died, would not find both keys of a batch.
 */
@org.junit.jupiter.api.Tag("lincheck")
final class PublicationLincheckTest {
  @Test
  void everyReadSeesOneWholeCommitInEveryInterleaving() {
    Lincheck.modelChecking()
        // One step each, so that what is left to interleave is how views and moments are published.
        .addGuarantee(
            forClasses(
                    "io.kvsep.internal.memtable.Memtable",
                    "io.kvsep.internal.memory.Epochs",
                    "io.kvsep.internal.memory.MemoryLedger",
                    "io.kvsep.internal.memory.GrowingRegion",
                    "io.kvsep.internal.read.ReadContext",
                    "io.kvsep.internal.read.PointReader")
                .allMethods()
                .treatAsAtomic())
        .sequentialSpecification(Counter.class)
        .check(Store.class);
  }

  @Test
  void everyReadSeesOneWholeCommitAtFullSpeed() {
    Lincheck.stress().threads(3).sequentialSpecification(Counter.class).check(Store.class);
  }

  /** A store without files; a memtable begins at the number of the batch that began it. */
  public static final class Store {
    private static final long ARENA_BYTES = 512;
    private static final byte[] FIRST = {1};
    private static final byte[] SECOND = {2};
    private static @Nullable Store latest;

    private final MemoryLedger ledger = new MemoryLedger();
    private final Epochs<ReadContext> epochs = new Epochs<>(() -> new ReadContext(ledger));
    private final SnapshotRegistry snapshots = new SnapshotRegistry(0, () -> 0);
    private final Region source = ledger.allocate(MemoryPurpose.READ, 3);
    private final Memtable.Splice splice = new Memtable.Splice();
    private final VersionSet versions;
    private final CurrentReadState currentState;
    private final StoreReads reads;
    private int batches;

    public Store() throws IOException {
      Store before = latest;
      if (before != null) {
        before.giveBack();
      }
      latest = this;
      CrashableStorage storage = new CrashableStorage();
      versions =
          VersionSet.create(
              storage, new StoreId(1, 2), ledger, (tables, ids) -> {}, Readers.unbounded());
      ManualScheduler scheduler = new ManualScheduler(1, 1);
      currentState = new CurrentReadState(epochs, versions::current, scheduler, new FailureState());
      ValueReader values = new ValueReader(new SegmentDirectory());
      EngineConfig config =
          Engines.config(
              storage, CommitSync.ON_DEMAND, new ManualClock(0), new Random(1), scheduler);
      reads = new StoreReads(epochs, currentState, snapshots, values, config, ledger);
      currentState.start(List.of(memtable(0)));
    }

    @Operation(nonParallelGroup = "writer")
    public int write() {
      batches++;
      insert(FIRST);
      currentState.addMemtable(memtable(batches));
      insert(SECOND);
      snapshots.publish(batches);
      return batches;
    }

    @Operation(nonParallelGroup = "collector")
    public void collect() {
      long least = snapshots.boundaries()[0];
      for (SharedMemtable shared : currentState.get().memtables) {
        // It holds the second key of this batch and the first one of the next.
        if (shared.memtable.logStart().segment() + 2 <= least) {
          currentState.installVersion(shared.memtable);
        }
      }
    }

    @Operation
    public int read() {
      return readAt(StoreReads.LATEST);
    }

    @Operation
    public int readOne() {
      byte[] value = reads.get(Keyspaces.DEFAULT, SECOND, StoreReads.LATEST);
      return value == null ? 0 : value[0];
    }

    @Operation
    public int readSnapshot() {
      SnapshotLease hold = reads.acquireSnapshot();
      long sequence = hold.sequence();
      try {
        int first = readAt(hold);
        if (first != sequence || readAt(hold) != first) {
          throw new IllegalStateException("a snapshot of " + sequence + " reads " + first);
        }
        return first;
      } finally {
        reads.releaseSnapshot(hold);
      }
    }

    @Operation
    public int readView() {
      ReadState readState = currentState.retain();
      try {
        // Of a memtable that was freed this would be an error.
        return readState.active().arena().getInt(0);
      } finally {
        readState.release();
      }
    }

    private int readAt(SnapshotLease hold) {
      List<byte @Nullable []> found = reads.getAll(Keyspaces.DEFAULT, List.of(FIRST, SECOND), hold);
      byte[] first = found.get(0);
      byte[] second = found.get(1);
      if (first == null && second == null) {
        return 0;
      }
      if (first == null || second == null || first[0] != second[0]) {
        throw new IllegalStateException("half a batch");
      }
      return first[0];
    }

    private Memtable memtable(int batch) {
      return new Memtable(ledger, ARENA_BYTES, new LogPosition(batch, 0), batch);
    }

    private void insert(byte[] key) {
      source.putByte(0, (byte) Keyspaces.DEFAULT);
      source.putByte(1, key[0]);
      source.putByte(2, (byte) batches);
      Entry entry = new Entry();
      entry.keyRegion = source;
      entry.keyLength = 2;
      entry.tag = Tag.of(batches, Tag.PUT);
      entry.valueRegion = source;
      entry.valueOffset = 2;
      entry.valueLength = 1;
      if (!currentState.get().active().insert(entry, splice)) {
        throw new IllegalStateException("the memtable is full");
      }
    }

    private void giveBack() {
      currentState.close();
      epochs.drain();
      epochs.free();
      versions.close();
      source.free();
      if (ledger.totalBytes() != 0) {
        throw new IllegalStateException(ledger.totalBytes() + " bytes are left");
      }
    }
  }

  /** The same without concurrency. */
  public static final class Counter {
    private int batches;

    public int write() {
      return ++batches;
    }

    public void collect() {}

    public int read() {
      return batches;
    }

    public int readOne() {
      return batches;
    }

    public int readSnapshot() {
      return batches;
    }

    public int readView() {
      return 0;
    }
  }
}
