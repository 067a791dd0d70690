package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.EngineConfig.Reclaim;
import io.kvsep.internal.reclaim.ReclaimGoal;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Values of a store that nobody writes to come to lie in the order of their keys. */
final class ScatteredFilesTest {
  private static final int ENTRIES = 400;
  private static final int VALUE_BYTES = 3_000;
  private static final int SEGMENT_BYTES = 100_000;
  private static final int SEGMENTS = ENTRIES * VALUE_BYTES / SEGMENT_BYTES;

  /** Looks of the timer after which a store is quiet. */
  private static final int QUIET_TICKS = 20;

  private final CrashableStorage storage = new CrashableStorage();
  private final ManualScheduler scheduler = new ManualScheduler(3, 2);
  private long orderFromBytes = ENTRIES * VALUE_BYTES / 2;
  private final StorageEngine store =
      StorageEngine.open(
          ConfigDraft.of(Engines.config(storage, scheduler))
              .compressionBytesMin(Integer.MAX_VALUE)
              .segmentBytes(SEGMENT_BYTES)
              .reclaim(
                  new Reclaim(
                      new ReclaimGoal(1.5, 256, SEGMENT_BYTES),
                      0,
                      Long.MAX_VALUE,
                      () -> orderFromBytes))
              .build());

  @AfterEach
  void close() {
    requireAll();
    assertEquals(List.of(), store.verify().problems());
    store.close();
    assertEquals(0, store.memoryBytes(), "off-heap bytes after close");
  }

  private static byte[] key(int n) {
    return String.format("key%05d", n).getBytes(UTF_8);
  }

  private static byte[] value(int n, int length) {
    byte[] value = new byte[length];
    new Random(n).nextBytes(value);
    return value;
  }

  private int valueBytes = VALUE_BYTES;

  private void fill(boolean inOrder) {
    List<Integer> order = new ArrayList<>();
    for (int n = 0; n < ENTRIES; n++) {
      order.add(n);
    }
    if (!inOrder) {
      Collections.shuffle(order, new Random(4));
    }
    order.forEach(n -> store.writes().put(0, key(n), value(n, valueBytes), 0));
    store.compact();
    ticks(QUIET_TICKS / 2);
    assertEquals(0, rewritten(), "before it is quiet");
  }

  private void ticks(int count) {
    for (int i = 0; i < count; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
  }

  private EngineCursor cursor() {
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    return store.reads().cursor(all, StoreReads.LATEST);
  }

  private void requireAll() {
    try (EngineCursor cursor = cursor()) {
      for (int n = 0; n < ENTRIES; n++) {
        assertTrue(cursor.next());
        assertArrayEquals(value(n, valueBytes), cursor.value());
      }
      assertFalse(cursor.next());
    }
  }

  private long rewritten() {
    return store.stats().reclaim().filesRewritten();
  }

  private long inOrder() {
    return store.segments().stream().filter(EngineStats.SegmentFile::relocated).count();
  }

  @Test
  void allFilesAreRewrittenOnceWhenNobodyWrites() {
    fill(/* inOrder= */ false);
    ticks(2 * QUIET_TICKS);
    long once = rewritten();
    assertTrue(once >= SEGMENTS - 1 && once <= SEGMENTS + 1, once + " files");
    assertTrue(inOrder() >= SEGMENTS - 1, inOrder() + " in order");
    store.writes().put(0, key(1), value(1, VALUE_BYTES), 0);
    ticks(2 * QUIET_TICKS);
    assertEquals(once, rewritten(), "what is in order is left alone");
  }

  @Test
  void tablesPointStraightAtTheValuesInTheEnd() throws IOException {
    fill(/* inOrder= */ false);
    ticks(2 * QUIET_TICKS);
    assertEquals(List.of(), PointerRefreshTest.oldNames(storage));
    long compactions = store.stats().compactions();
    ticks(2 * QUIET_TICKS);
    assertEquals(
        compactions, store.stats().compactions(), "there is nothing left to point straight");
  }

  @Test
  void tablesAreLeftAloneWhereThatCannotBe() throws IOException {
    fill(/* inOrder= */ false);
    storage.failAt(
        1,
        Fault.ENOSPC,
        /* sticky= */ true,
        (kind, name) -> kind == Operation.CREATE && name.endsWith(".sst"));
    ticks(2 * QUIET_TICKS);
    assertFalse(PointerRefreshTest.oldNames(storage).isEmpty());
    storage.clearTrace();
    ticks(2 * QUIET_TICKS);
    assertEquals(
        List.of(), storage.trace().stream().filter(line -> line.startsWith("create")).toList());
    storage.clearFaults();
    requireAll();
    store.writes().put(0, key(1), value(1, VALUE_BYTES), 0);
    ticks(2 * QUIET_TICKS);
    assertEquals(List.of(), PointerRefreshTest.oldNames(storage));
  }

  @Test
  void aFullDiskIsTriedOnceUntilSomebodyWrites() {
    fill(/* inOrder= */ false);
    storage.failAt(
        1,
        Fault.ENOSPC,
        /* sticky= */ true,
        (kind, name) -> kind == Operation.WRITE && name.endsWith(".vlog"));
    storage.clearTrace();
    ticks(6 * QUIET_TICKS);
    assertEquals(1, created(), "files that were begun");
    assertEquals(0, inOrder());
    storage.clearFaults();
    requireAll();
    store.writes().put(0, key(1), value(1, VALUE_BYTES), 0);
    ticks(2 * QUIET_TICKS);
    assertTrue(inOrder() >= SEGMENTS - 1, inOrder() + " in order");
  }

  @Test
  void aSegmentThatCannotBeReadIsNotReadAgainAndAgain() {
    fill(/* inOrder= */ false);
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (kind, name) -> kind == Operation.READ && name.equals("000001.vlog"));
    ticks(2 * QUIET_TICKS);
    storage.clearTrace();
    ticks(6 * QUIET_TICKS);
    assertEquals(0, created());
    assertEquals(List.of(), store.stats().reclaim().damagedFiles());
    storage.clearFaults();
  }

  @Test
  void whatAReaderOfChangesMayStillWantStaysWhereItIs() {
    fill(/* inOrder= */ false);
    ChangeReader changes = store.changes().open(0);
    ticks(2 * QUIET_TICKS);
    assertEquals(0, inOrder());
    for (int i = 0; i < ENTRIES; i++) {
      assertNotNull(changes.poll(), "change " + i);
    }
    changes.close();
    ticks(2 * QUIET_TICKS);
    assertTrue(inOrder() >= SEGMENTS - 1, inOrder() + " in order");
  }

  @Test
  void reclaimInBetweenDoesNotEndIt() {
    fill(/* inOrder= */ false);
    try (EngineCursor cursor = cursor()) {
      assertTrue(cursor.next());
      ticks(2 * QUIET_TICKS);
    }
    store.reclaim();
    ticks(2 * QUIET_TICKS);
    assertTrue(inOrder() >= SEGMENTS - 1, inOrder() + " in order");
  }

  @Test
  void onlyVictimsOfWhichMostIsNeededAreReadFromEndToEnd() {
    fill(/* inOrder= */ false);
    ticks(2 * QUIET_TICKS);
    assertTrue(longReads() >= SEGMENTS - 1, longReads() + " long reads");
    storage.clearTrace();
    orderFromBytes = Long.MAX_VALUE;
    for (int n = 0; n < ENTRIES; n += 2) {
      store.writes().put(0, key(n), value(n, VALUE_BYTES), 0);
    }
    store.compact();
    store.reclaim();
    assertEquals(0, longReads());
  }

  /** Reads of the log of more than a record. */
  private long longReads() {
    return storage.trace().stream()
        .filter(line -> line.startsWith("read ") && line.contains(".vlog "))
        .filter(line -> Long.parseLong(line.substring(line.indexOf('+') + 1)) > 2 * VALUE_BYTES)
        .count();
  }

  /** Files of the log that were made. */
  private long created() {
    return storage.trace().stream()
        .filter(line -> line.startsWith("create ") && line.endsWith(".vlog"))
        .count();
  }

  @Test
  void nothingIsDoneWhileSomebodyWrites() {
    fill(/* inOrder= */ false);
    for (int i = 0; i < 3 * QUIET_TICKS; i++) {
      store.writes().put(0, key(1), value(1, VALUE_BYTES), 0);
      ticks(1);
    }
    assertEquals(0, inOrder());
  }

  @Test
  void aBulkLoadCountsAsWriting() {
    fill(/* inOrder= */ false);
    Iterator<TestLoad.Item> slow =
        new Iterator<>() {
          private boolean given;

          @Override
          public boolean hasNext() {
            if (!given) {
              ticks(3 * QUIET_TICKS);
              assertEquals(0, inOrder(), "while somebody loads");
            }
            return !given;
          }

          @Override
          public TestLoad.Item next() {
            given = true;
            return new TestLoad.Item(key(1), value(1, VALUE_BYTES));
          }
        };
    store.loads().load(0, new TestLoad(slow));
    ticks(3 * QUIET_TICKS);
    assertTrue(inOrder() >= SEGMENTS - 1, inOrder() + " in order");
  }

  @Test
  void anOpenCursorLetsLittleBeReplaced() {
    fill(/* inOrder= */ false);
    try (EngineCursor cursor = cursor()) {
      assertTrue(cursor.next());
      ticks(2 * QUIET_TICKS);
      EngineStats stats = store.stats();
      assertTrue(stats.reclaim().filesRewritten() > 0);
      assertTrue(stats.logBytes() < 1.5 * stats.logLiveBytes(), stats::toString);
    }
    ticks(2 * QUIET_TICKS);
    assertTrue(inOrder() >= SEGMENTS - 1, inOrder() + " in order");
  }

  @Test
  void whatFitsIntoMemoryStaysWhereItIs() {
    orderFromBytes = 2 * ENTRIES * VALUE_BYTES;
    fill(/* inOrder= */ false);
    ticks(2 * QUIET_TICKS);
    assertEquals(0, rewritten());
  }

  @Test
  void whatWasWrittenInOrderStaysWhereItIs() {
    fill(/* inOrder= */ true);
    ticks(2 * QUIET_TICKS);
    assertEquals(0, rewritten());
  }

  @Test
  void longValuesStayWhereTheyAre() {
    valueBytes = 20_000;
    fill(/* inOrder= */ false);
    ticks(2 * QUIET_TICKS);
    assertEquals(0, rewritten());
  }
}
