package io.kvsep.internal.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What readers find when the next view is there, and when there is no memory for it. */
final class CurrentReadStateTest {
  private static final int WAITERS = 4;
  private static final int TURNS = 2000;

  private final MemoryLedger ledger = new MemoryLedger();
  private final Epochs<ReadContext> epochs = new Epochs<>(() -> new ReadContext(ledger));
  private boolean scarce;

  private Memtable memtable() {
    return new Memtable(ledger, 8 << 10, LogPosition.START, 1);
  }

  @Test
  void aMemtableCountsAsPinnedFromWhenItHasLeftUntilItIsFreed() {
    Memtable newer = memtable();
    Memtable older = memtable();
    try (BareVersions versions = new BareVersions()) {
      CurrentReadState currentState =
          new CurrentReadState(
              epochs,
              () -> {
                if (scarce) {
                  throw new OutOfMemoryError("as a test wants it");
                }
                return versions.current();
              },
              new ManualScheduler(1, 1),
              new FailureState());
      currentState.start(List.of(newer, older));
      ReadState before = currentState.retain();
      scarce = true;
      assertThrows(OutOfMemoryError.class, () -> currentState.installVersion(older));
      long bytes = ledger.totalBytes();
      assertThrows(OutOfMemoryError.class, () -> currentState.addMemtable(memtable()));
      assertEquals(bytes, ledger.totalBytes(), "it was given back");
      assertSame(before, currentState.get());
      assertEquals(0, currentState.pinnedMemtableBytes(), "it stays");
      scarce = false;
      currentState.installVersion(older);
      assertEquals(1, currentState.get().memtables.size());
      assertTrue(currentState.pinnedMemtableBytes() > 0);
      assertEquals(older.memoryBytes(), currentState.pinnedMemtableBytes());
      before.release();
      assertEquals(0, currentState.pinnedMemtableBytes());
      currentState.close();
    }
    epochs.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void whoWaitsIsToldOfEachChangeAndKeepsItsInterrupt() throws Exception {
    try (BareVersions versions = new BareVersions()) {
      CurrentReadState currentState =
          new CurrentReadState(
              epochs, versions::current, new ManualScheduler(1, 1), new FailureState());
      currentState.start(List.of(memtable()));
      AtomicInteger turn = new AtomicInteger();
      ExecutorService threads = Executors.newFixedThreadPool(WAITERS);
      List<Future<Boolean>> waiters = new ArrayList<>();
      for (int i = 0; i < WAITERS; i++) {
        int waiter = i;
        waiters.add(
            threads.submit(
                () -> {
                  boolean interrupts = waiter % 2 == 0;
                  if (interrupts) {
                    Thread.currentThread().interrupt();
                  }
                  for (int own = waiter; own < TURNS; own += WAITERS) {
                    long seen = currentState.changes();
                    while (turn.get() != own) {
                      currentState.awaitChange(seen);
                      seen = currentState.changes();
                    }
                    turn.incrementAndGet();
                    currentState.signal();
                  }
                  return Thread.interrupted() == interrupts;
                }));
      }
      for (Future<Boolean> waiter : waiters) {
        assertTrue(waiter.get(), "the interrupt flag is what it was");
      }
      threads.shutdown();
      assertEquals(TURNS, turn.get());
      currentState.awaitChange(currentState.changes() - 1);
      currentState.close();
    }
    epochs.free();
    assertEquals(0, ledger.totalBytes());
  }
}
