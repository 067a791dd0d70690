package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.engine.Scheduler.Lane;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.testing.ManualScheduler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who wants all tables for himself, and who wants nobody to have that, wait for each other. */
final class RunningCompactionsTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Epochs<ReadContext> epochs = new Epochs<>(() -> new ReadContext(ledger));
  private final ManualScheduler scheduler = new ManualScheduler(1, 1);
  private final RunningCompactions running =
      new RunningCompactions(
          new LiveView(
              epochs,
              () -> {
                throw new AssertionError("nobody asks for a version");
              },
              scheduler));
  private int pulses;

  @AfterEach
  void free() {
    epochs.free();
  }

  @Test
  void oneWaitsForTheOther() {
    running.pause();
    scheduler.execute(Lane.COMPACTION, running::resume);
    running.keepGoing(() -> pulses++);
    assertEquals(1, pulses);
    int[] ran = new int[1];
    running.beside(plans -> ran[0]++);
    assertEquals(1, ran[0]);
    boolean[] allowed = new boolean[1];
    scheduler.execute(
        Lane.COMPACTION,
        () -> {
          allowed[0] = true;
          running.allowPause();
        });
    running.pause();
    assertTrue(allowed[0], "paused while somebody keeps them going");
    assertThrows(IllegalStateException.class, () -> running.beside(plans -> ran[0]++));
    running.resume();
  }

  @Test
  void whoWaitsMayGiveUp() {
    running.pause();
    assertThrows(
        StoreClosedException.class,
        () ->
            running.keepGoing(
                () -> {
                  throw new StoreClosedException("on purpose");
                }));
    running.resume();
    running.pause();
    running.resume();
    running.keepGoing(() -> pulses++);
    running.allowPause();
    assertEquals(0, pulses);
  }
}
