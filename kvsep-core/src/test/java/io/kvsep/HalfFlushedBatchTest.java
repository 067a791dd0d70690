package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.repair.Repair;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A batch longer than a memtable: one part is in a table, the rest in the log alone. Its frame has
 * then been synced, so damage in it is not an incomplete write.
 */
final class HalfFlushedBatchTest {
  /** More than a memtable takes: tables are made when the batch is there. */
  private static final int SHORT = 200;

  /** More than all memtables: the first table is made while the batch is under way. */
  private static final int LONG = 300;

  private static final String LOG = StoreFiles.segment(1);
  private static final byte[] BEHIND = "behind".getBytes(UTF_8);

  /** Before each change that the batch and what follows make. */
  private final List<CrashableStorage> moments = new ArrayList<>();

  private final CrashableStorage storage = new CrashableStorage();
  private int batchEnd;

  private void write(int entries) throws IOException {
    ManualScheduler scheduler = new ManualScheduler(1, 1);
    BatchWrites batch = new BatchWrites();
    for (int i = 0; i < entries; i++) {
      batch.put(0, key(i), new byte[20], 0);
    }
    try (StorageEngine engine = Engines.open(storage, scheduler)) {
      engine.writes().put(0, "before".getBytes(UTF_8), new byte[20], 0);
      storage.watch(moments::add);
      engine.writes().write(batch, null);
      batchEnd = storage.contents(LOG).length;
      // Of the short batch nothing is synced yet, so that this says nothing of it either.
      engine.writes().put(0, BEHIND, BEHIND, 0);
      scheduler.runAll();
      assertTrue(engine.stats().flushes() > 1);
      moments.add(storage.moment());
      storage.watch(null);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {SHORT, LONG})
  void damageInItIsNoTornTail(int entries) throws IOException {
    write(entries);
    int refused = 0;
    for (CrashableStorage moment : moments) {
      CrashableStorage left = damaged(moment);
      try (StorageEngine engine = open(left)) {
        assertEquals(0, held(engine), "of a batch that does not hold");
      } catch (CorruptionException e) {
        assertEquals(LOG, e.file());
        refused++;
      }
    }
    assertTrue(refused > 1 && refused < moments.size(), refused + " of " + moments.size());
  }

  @ParameterizedTest
  @ValueSource(ints = {SHORT, LONG})
  void aCrashLeavesItWholeOrNot(int entries) throws IOException {
    write(entries);
    int whole = 0;
    for (CrashableStorage moment : moments) {
      List<CrashableStorage> states = new ArrayList<>(moment.crashStates(20));
      states.add(moment.crashKeepingAll());
      for (CrashableStorage state : states) {
        try (StorageEngine engine = open(state)) {
          int held = held(engine);
          assertTrue(held == 0 || held == entries, held + " of the batch");
          whole += held == 0 ? 0 : 1;
        }
      }
    }
    assertTrue(whole > moments.size(), whole + " times");
  }

  @Test
  void repairKeepsWhatIsBehindTheDamage() throws IOException {
    write(SHORT);
    CrashableStorage left = damaged(moments.get(moments.size() - 1));
    try (StorageEngine target = open(new CrashableStorage())) {
      RepairReport result =
          Repair.run(new Repair.Input(left, new CrashableStorage(), target, 1_000, 16 << 10));
      assertEquals(1, result.losses().size(), () -> result.losses().toString());
      assertEquals(LOG, result.losses().get(0).file());
      assertEquals(SHORT - 1, held(target));
      assertArrayEquals(BEHIND, target.reads().get(0, BEHIND, StoreReads.LATEST));
    }
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  private static StorageEngine open(CrashableStorage storage) {
    return Engines.open(storage, new ManualScheduler(2, 1));
  }

  /** After a kill, with a bit of the batch's last record changed, as far as it was written. */
  private CrashableStorage damaged(CrashableStorage moment) throws IOException {
    CrashableStorage left = moment.crashKeepingAll();
    left.corrupt(LOG, Math.min(batchEnd, left.contents(LOG).length) - 1, found -> found ^ 1);
    return left;
  }

  private static int held(StorageEngine engine) {
    int held = 0;
    for (int i = 0; i < LONG; i++) {
      held += engine.reads().get(0, key(i), StoreReads.LATEST) == null ? 0 : 1;
    }
    return held;
  }
}
