package io.kvsep.internal.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Parked;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Waits of threads that were interrupted before. */
final class UninterruptiblesTest {
  @Test
  void anInterruptedThreadPausesAndKeepsTheFlag() throws InterruptedException {
    AtomicBoolean kept = new AtomicBoolean();
    Thread thread =
        new Thread(
            () -> {
              Thread.currentThread().interrupt();
              Uninterruptibles.pause(TimeUnit.HOURS.toNanos(1));
              kept.set(Thread.currentThread().isInterrupted());
            });
    thread.start();
    Parked.await(List.of(thread));
    assertEquals(Thread.State.TIMED_WAITING, thread.getState());
    LockSupport.unpark(thread);
    thread.join();
    assertTrue(kept.get());
  }

  @Test
  void anInterruptEndsAPause() throws InterruptedException {
    AtomicBoolean kept = new AtomicBoolean();
    Thread thread =
        new Thread(
            () -> {
              Uninterruptibles.pause(TimeUnit.HOURS.toNanos(1));
              kept.set(Thread.currentThread().isInterrupted());
            });
    thread.start();
    Parked.await(List.of(thread));
    thread.interrupt();
    thread.join();
    assertTrue(kept.get());
  }
}
