package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Closing a store while another thread closes what was opened on it. */
final class CloseRaceTest {
  private static final int CURSORS = 16;

  @Test
  void closingWaitsForCursorsThatTheirOwnThreadIsClosing() throws Exception {
    for (int round = 0; round < 150; round++) {
      StorageEngine engine =
          StorageEngine.open(
              Engines.config(
                  new CrashableStorage(),
                  CommitSync.ON_DEMAND,
                  new ManualClock(1_000),
                  new Random(round),
                  new ThreadScheduler(1)));
      engine.writes().put(0, new byte[] {1}, new byte[100], 0);
      ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
      List<SnapshotCursor> cursors = new ArrayList<>();
      for (int i = 0; i < CURSORS; i++) {
        SnapshotCursor cursor = engine.reads().cursor(all, StoreReads.LATEST);
        assertTrue(cursor.next());
        cursors.add(cursor);
      }
      Thread closer = new Thread(() -> closeAtTheLastMoment(engine, cursors));
      closer.start();
      engine.close();
      long held = engine.memoryBytes();
      closer.join();
      assertEquals(0, held, "bytes held when close returned");
    }
  }

  /** The store closes its cursors right after it has ceased to answer. */
  private static void closeAtTheLastMoment(StorageEngine engine, List<SnapshotCursor> cursors) {
    try {
      while (true) {
        engine.reads().contains(0, new byte[] {1}, StoreReads.LATEST);
      }
    } catch (StoreClosedException e) {
      cursors.forEach(SnapshotCursor::close);
    }
  }
}
