package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableReader;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Memory runs out wherever a cursor asks for some: nothing is kept of what there is of it. */
final class ScarceCursorTest {
  private static final int TABLES = 3;
  private static final int KEYS = 50;
  private static final long KEY_BYTES = 64;

  /** Memory that runs out once, when so much was asked for. */
  private static final class ScarceLedger extends MemoryLedger {
    private int left;

    @Override
    public Region allocate(MemoryPurpose purpose, long length) {
      take();
      return super.allocate(purpose, length);
    }

    @Override
    public Region allocateUncleared(MemoryPurpose purpose, long length) {
      take();
      return super.allocateUncleared(purpose, length);
    }

    private void take() {
      if (left-- == 0) {
        throw new OutOfMemoryError("as a test wants it");
      }
    }
  }

  private final CrashableStorage disk = new CrashableStorage();
  private final EngineConfig config = Engines.config(disk, new ManualScheduler(1, 1));
  private final StorageEngine engine = StorageEngine.open(config);
  private final ScarceLedger ledger = new ScarceLedger();

  @Test
  void aCursorForWhichThereIsNoMemoryKeepsNothing() {
    for (int table = 0; table < TABLES; table++) {
      put(table);
      engine.flush();
    }
    put(TABLES);
    List<TableReader> tables = new ArrayList<>();
    for (TableFile table : engine.reads().currentState().get().version.tables(0)) {
      tables.add(table.reader());
    }
    assertEquals(TABLES, tables.size());
    SnapshotRegistry snapshots =
        new SnapshotRegistry(engine.reads().visibleSequence(), /* ticker= */ () -> 0);
    StoreReads reads =
        new StoreReads(
            engine.reads().epochs(),
            engine.reads().currentState(),
            snapshots,
            engine.reads().values(),
            config,
            ledger);

    List<Long> left = new ArrayList<>();
    while (!isEnough(reads, left.size())) {
      left.add(ledger.totalBytes());
    }
    // Each table that was entered keeps the key memory of its iterator, and needs no more.
    assertEquals(List.of(0L, KEY_BYTES, TABLES * KEY_BYTES), left);
    assertEquals(0, reads.openCursors());
    engine.close();
    assertEquals(0, engine.memoryBytes(), "off-heap bytes of the store");
    assertEquals(0, ledger.totalBytes(), "off-heap bytes of the cursors");
    for (TableReader table : tables) {
      assertEquals(0, table.mappedBytes(), "a table that is still pinned");
    }
  }

  /** Walks all entries with so much memory; whether it was enough. */
  private boolean isEnough(StoreReads reads, int allocations) {
    ledger.left = allocations;
    ScanBounds bounds = new ScanBounds(0, key(0), key(KEYS), false, false, Long.MAX_VALUE);
    try (SnapshotCursor cursor = reads.cursor(bounds, StoreReads.LATEST)) {
      int count = 0;
      while (cursor.next()) {
        count++;
      }
      assertEquals(KEYS, count);
      return true;
    } catch (OutOfMemoryError e) {
      return false;
    }
  }

  private void put(int round) {
    for (int i = 0; i < KEYS; i++) {
      engine.writes().put(0, key(i), new byte[] {(byte) round}, 0);
    }
  }

  private static byte[] key(int number) {
    return "%04d".formatted(number).getBytes(UTF_8);
  }
}
