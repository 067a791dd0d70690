package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Parked;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A store that is closed after a cursor was made and before the store knows of it. */
final class CursorDuringCloseTest {
  /** Runs once, when a cursor is about to be noted with the time. */
  private Runnable beforeNoted = () -> {};

  private final StorageEngine engine =
      StorageEngine.open(
          ConfigDraft.of(Engines.config(new CrashableStorage(), new ManualScheduler(1, 1)))
              .ticker(
                  () -> {
                    Runnable once = beforeNoted;
                    beforeNoted = () -> {};
                    once.run();
                    return 0;
                  })
              .build());

  @Test
  void theCursorIsRefusedAndHoldsNothing() throws InterruptedException {
    engine.writes().put(0, new byte[] {1}, new byte[1], 0);
    Thread closer = new Thread(engine::close);
    boolean[] waits = new boolean[1];
    beforeNoted =
        () -> {
          closer.start();
          // There was no cursor to close, and it waits for the thread that is inside.
          Parked.await(List.of(closer));
          waits[0] = closer.isAlive();
        };
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    assertThrows(StoreClosedException.class, () -> engine.reads().cursor(all, StoreReads.LATEST));
    closer.join();
    assertTrue(waits[0]);
    assertEquals(0, engine.memoryBytes());
  }
}
