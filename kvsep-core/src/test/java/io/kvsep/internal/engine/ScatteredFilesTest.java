package io.kvsep.internal.engine;

import static io.kvsep.internal.engine.ScatteredStore.ENTRIES;
import static io.kvsep.internal.engine.ScatteredStore.QUIET_TICKS;
import static io.kvsep.internal.engine.ScatteredStore.SEGMENTS;
import static io.kvsep.internal.engine.ScatteredStore.STEP;
import static io.kvsep.internal.engine.ScatteredStore.VALUE_BYTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.StoreStats;
import io.kvsep.internal.feed.ChangeReader;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.FixedMemory;
import io.kvsep.testing.Operation;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Values of a store without writers come to lie in the order of their keys. */
final class ScatteredFilesTest {
  private long orderFromBytes = ENTRIES * VALUE_BYTES / 2;
  private final ScatteredStore files = new ScatteredStore(() -> orderFromBytes);
  private final CrashableStorage storage = files.storage;
  private final StorageEngine store = files.engine;

  @AfterEach
  void close() {
    files.close();
  }

  @Test
  void allFilesAreRewrittenOnceWithoutWrites() {
    files.fill(/* inOrder= */ false);
    files.rest();
    long once = files.rewritten();
    assertTrue(once >= SEGMENTS - 1 && once <= SEGMENTS + 1, once + " files");
    assertTrue(files.inOrder() >= SEGMENTS - 1, files.inOrder() + " in order");
    files.put(STEP);
    files.rest();
    assertEquals(once, files.rewritten(), "what is in order is left alone");
  }

  @Test
  void aFullDiskIsTriedOnceUntilTheNextWrite() {
    files.fill(/* inOrder= */ false);
    storage.failAt(
        1,
        Fault.ENOSPC,
        /* sticky= */ true,
        (kind, name) -> kind == Operation.WRITE && name.endsWith(".vlog"));
    storage.clearTrace();
    files.ticks(6 * QUIET_TICKS);
    assertEquals(1, created(), "files that were begun");
    assertEquals(0, files.inOrder());
    storage.clearFaults();
    files.requireAll();
    files.put(STEP);
    files.rest();
    assertTrue(files.inOrder() >= SEGMENTS - 1, files.inOrder() + " in order");
  }

  @Test
  void aSegmentThatCannotBeReadIsNotReadAgainAndAgain() {
    files.fill(/* inOrder= */ false);
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (kind, name) ->
            (kind == Operation.READ || kind == Operation.MAP) && name.equals("000001.vlog"));
    files.rest();
    storage.clearTrace();
    files.ticks(6 * QUIET_TICKS);
    assertEquals(0, created());
    assertEquals(List.of("000001.vlog"), store.stats().reclaim().damagedFiles());
    storage.clearFaults();
  }

  @Test
  void whatAReaderOfChangesMayStillWantStaysWhereItIs() {
    files.fill(/* inOrder= */ false);
    ChangeReader changes = store.changes().open(0);
    files.rest();
    assertEquals(0, files.inOrder());
    for (int i = 0; i < ENTRIES; i++) {
      assertNotNull(changes.poll(each -> each), "change " + i);
    }
    changes.close();
    files.rest();
    assertTrue(files.inOrder() >= SEGMENTS - 1, files.inOrder() + " in order");
  }

  @Test
  void reclaimInBetweenDoesNotEndIt() {
    files.fill(/* inOrder= */ false);
    try (SnapshotCursor cursor = files.cursor()) {
      assertTrue(cursor.next());
      files.rest();
    }
    store.reclaim();
    files.rest();
    assertTrue(files.inOrder() >= SEGMENTS - 1, files.inOrder() + " in order");
  }

  @Test
  void onlyVictimsOfWhichMostIsNeededAreReadFromEndToEnd() {
    files.fill(/* inOrder= */ false);
    files.rest();
    assertTrue(longReads() >= SEGMENTS - 1, longReads() + " long reads");
    files.loads.clear();
    orderFromBytes = Long.MAX_VALUE;
    for (int i = 0; i < ENTRIES; i += 2) {
      files.put(i * STEP);
    }
    store.reclaim();
    assertEquals(0, longReads());
  }

  @Test
  void aScanOfAColdStoreAsksForEachMovedValueOnce() {
    try (ScatteredStore cold = new ScatteredStore(() -> 0, FixedMemory.NONE)) {
      cold.fill(/* inOrder= */ false);
      cold.rest();
      assertTrue(cold.inOrder() >= SEGMENTS - 1, cold.inOrder() + " in order");
      cold.loads.clear();
      cold.requireAll();
      double loads = (double) cold.loads.size() / ENTRIES;
      assertTrue(loads < 2.5, loads + " for a value, its relocation and its key");
    }
  }

  /** Loads of more than a record. */
  private long longReads() {
    return files.loads.stream().filter(bytes -> bytes > 2 * VALUE_BYTES).count();
  }

  /** Files of the log that were made. */
  private long created() {
    return storage.trace().stream()
        .filter(line -> line.startsWith("create ") && line.endsWith(".vlog"))
        .count();
  }

  @Test
  void nothingIsDoneBesideWrites() {
    files.fill(/* inOrder= */ false);
    for (int i = 0; i < 3 * QUIET_TICKS; i++) {
      files.put(STEP);
      files.ticks(1);
    }
    assertEquals(0, files.inOrder());
  }

  @Test
  void aBulkLoadCountsAsWriting() {
    files.fill(/* inOrder= */ false);
    Iterator<TestLoad.Item> slow =
        new Iterator<>() {
          private boolean given;

          @Override
          public boolean hasNext() {
            if (!given) {
              files.ticks(3 * QUIET_TICKS);
              assertEquals(0, files.inOrder(), "during a load");
            }
            return !given;
          }

          @Override
          public TestLoad.Item next() {
            given = true;
            return new TestLoad.Item(
                ScatteredStore.key(STEP), ScatteredStore.value(STEP, VALUE_BYTES));
          }
        };
    store.loads().load(0, new TestLoad(slow));
    files.ticks(3 * QUIET_TICKS);
    assertTrue(files.inOrder() >= SEGMENTS - 1, files.inOrder() + " in order");
  }

  @Test
  void anOpenCursorLetsLittleBeReplaced() {
    files.fill(/* inOrder= */ false);
    try (SnapshotCursor cursor = files.cursor()) {
      assertTrue(cursor.next());
      files.rest();
      StoreStats stats = store.stats();
      assertTrue(stats.reclaim().filesRewritten() > 0);
      assertTrue(stats.logBytes() < 1.5 * stats.logLiveBytes(), stats::toString);
    }
    files.rest();
    assertTrue(files.inOrder() >= SEGMENTS - 1, files.inOrder() + " in order");
  }

  @Test
  void aSmallStoreStaysWhereItIs() {
    orderFromBytes = 2 * ENTRIES * VALUE_BYTES;
    files.fill(/* inOrder= */ false);
    files.rest();
    assertEquals(0, files.rewritten());
  }

  @Test
  void whatWasWrittenInOrderStaysWhereItIs() {
    files.fill(/* inOrder= */ true);
    files.rest();
    assertEquals(0, files.rewritten());
  }

  @Test
  void valuesOfHalfThatLengthAreMoved() {
    files.fill(/* inOrder= */ false, 20_000);
    files.rest();
    assertTrue(files.inOrder() > 0, "none in order");
  }

  @Test
  void longValuesStayWhereTheyAre() {
    files.fill(/* inOrder= */ false, 40_000);
    files.rest();
    assertEquals(0, files.rewritten());
  }
}
