package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

/**
 * The thread that uses a cursor, though another one made it, asks for unreadable pages at each
 * write.
 */
final class CursorUserTest {
  private static final int KEYS = 100;
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  /** As a write does; whether it has to be done again at the next one. */
  private static boolean asksAgain() {
    DeferredPageFaults.wereAsked();
    return DeferredPageFaults.areExpected();
  }

  @Test
  void aCursorCountsForTheThreadThatUsedItLast() throws Exception {
    ExecutorService other = Executors.newSingleThreadExecutor();
    try (StorageEngine engine = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1))) {
      for (int i = 0; i < KEYS; i++) {
        engine.writes().put(0, ("key" + i).getBytes(UTF_8), new byte[100], 0);
      }
      engine.flush();
      InternalCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
      assertTrue(asksAgain());
      for (Callable<Boolean> use :
          List.<Callable<Boolean>>of(
              cursor::next,
              () -> cursor.seek("key5".getBytes(UTF_8)),
              () -> cursor.valueView().hasRemaining(),
              cursor::previous)) {
        assertTrue(
            other
                .submit(
                    () -> {
                      assertTrue(use.call());
                      return asksAgain();
                    })
                .get());
        assertFalse(asksAgain());
        assertTrue(cursor.seek("key1".getBytes(UTF_8)));
        assertTrue(asksAgain());
        assertFalse(other.submit(CursorUserTest::asksAgain).get());
      }
      cursor.close();
      assertFalse(asksAgain());
    } finally {
      other.shutdown();
    }
  }
}
