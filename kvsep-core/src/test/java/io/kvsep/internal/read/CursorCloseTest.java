package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.view.ReadState.SharedMemtable;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A source of a cursor cannot be closed: what else the cursor holds is given back. */
final class CursorCloseTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  private final MemoryLedger ledger = new MemoryLedger();
  private final Epochs<ReadContext> epochs = new Epochs<>(() -> new ReadContext(ledger));
  private final ManualClock clock = new ManualClock(1_000);

  /** An iterator over nothing, which may throw when it is closed. */
  private static final class Source extends InternalIterator {
    private final boolean fails;
    private boolean closed;

    Source(boolean fails) {
      this.fails = fails;
    }

    @Override
    public void seekToFirst() {}

    @Override
    public void seekToLast() {}

    @Override
    public void seek(Region key, long offset, int length, long tag) {}

    @Override
    public void seekBefore(Region key, long offset, int length, long tag) {}

    @Override
    public void next() {}

    @Override
    public void previous() {}

    @Override
    public void close() {
      closed = true;
      if (fails) {
        throw new InternalError("an unreadable page, as a test wants it");
      }
    }
  }

  @Test
  void aSourceThatCannotBeClosedKeepsNothingElse() throws IOException {
    StorageEngine engine = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1));
    VersionSet versions =
        VersionSet.create(
            new CrashableStorage(),
            new StoreId(1, 2),
            ledger,
            (tables, segments) -> {},
            Readers.unbounded());
    Memtable memtable = new Memtable(ledger, 8 << 10, LogPosition.START, 1);
    SharedMemtable shared = new SharedMemtable(memtable, new AtomicLong());
    ReadState readState = new ReadState(List.of(shared), versions.retainCurrent(), 0, epochs);
    Source failing = new Source(/* fails= */ true);
    Source sound = new Source(/* fails= */ false);
    MergingIterator merged = new MergingIterator(List.of(failing, sound), ledger);
    VisibleIterator iterator =
        new VisibleIterator(merged, 1, null, null, ALL.stored(), clock, ledger);
    SnapshotCursor cursor =
        new SnapshotCursor(engine.reads(), readState, iterator, /* verifies= */ true, null, ALL, 0);
    assertFalse(cursor.seek(new byte[] {5}));

    assertThrows(InternalError.class, cursor::close);
    assertTrue(failing.closed && sound.closed);
    assertEquals(0, epochs.collect());
    assertFalse(readState.tryRetain(), "the view was released");
    cursor.close();
    epochs.free();
    versions.close();
    assertEquals(0, ledger.totalBytes(), "off-heap bytes");
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }
}
