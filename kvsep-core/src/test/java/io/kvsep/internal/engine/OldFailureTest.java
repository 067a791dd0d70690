package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.RefusingScheduler;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A compaction failed long ago, and what it failed with has ended. A writer that has to wait for
 * another one, which takes its time, is not refused for the sake of that.
 */
final class OldFailureTest {
  private static final byte[] FIRST = {};
  private static final byte[] LAST = {(byte) 0xff};

  private final CrashableStorage storage = new CrashableStorage();
  private final ManualScheduler scheduler = new ManualScheduler(1, 1);
  private final RefusingScheduler lanes = new RefusingScheduler(scheduler);
  private final StorageEngine engine = Engines.open(storage, lanes);

  @AfterEach
  void nothingIsLeft() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  private void fail(Operation failing) {
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) ->
            operation == failing && StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE);
  }

  private void put() {
    engine.writes().put(0, "key".getBytes(UTF_8), new byte[3], 0);
  }

  /** Makes tables until level 0 has as many. */
  private void fill(int tables) {
    while (levelZero() < tables) {
      put();
      engine.flush();
    }
  }

  private int levelZero() {
    return Engines.levelTables(engine.stats())[0];
  }

  /** Writers wait for a compaction that has begun, and hear of nothing else. */
  private void checkWritersWait() {
    fill(Engines.TINY.levelZero().stopTables());
    put();
    assertTrue(levelZero() < Engines.TINY.levelZero().stopTables());
  }

  @Test
  void itIsForgottenWhenTablesWereCompactedByRequest() {
    lanes.refuse(Scheduler.Lane.COMPACTION);
    fill(Engines.TINY.levelZero().compactionTables());
    engine.compact();
    assertTrue(engine.stats().compactions() > 0);
    lanes.refuse();
    checkWritersWait();
  }

  @Test
  void itIsForgottenWhenNothingIsDueAnyMore() {
    fill(Engines.TINY.levelZero().compactionTables());
    fail(Operation.CREATE);
    scheduler.runAll();
    storage.clearFaults();
    assertEquals(Engines.TINY.levelZero().compactionTables(), levelZero());
    engine.writes().deleteRange(0, FIRST, LAST);
    engine.flush();
    assertEquals(1, levelZero(), "the table that says so, without being compacted");
    assertEquals(0, engine.stats().compactions());
    checkWritersWait();
  }

  @Test
  void aTableOfWhichItCouldNotBeSeenWhatItCoversIsNone() {
    fill(1);
    engine.writes().deleteRange(0, FIRST, LAST);
    fail(Operation.MAP);
    engine.flush();
    storage.clearFaults();
    assertEquals(2, levelZero());
    checkWritersWait();
  }
}
