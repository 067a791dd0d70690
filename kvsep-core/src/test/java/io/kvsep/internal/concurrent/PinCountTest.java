package io.kvsep.internal.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class PinCountTest {
  private final AtomicInteger released = new AtomicInteger();
  private final PinCount pins = new PinCount(released::incrementAndGet);

  @Test
  void theLastHolderGivesItBack() {
    assertTrue(pins.tryPin());
    pins.unpin();
    assertEquals(0, released.get());
    pins.unpin();
    assertEquals(1, released.get());
  }

  @Test
  void whatWasGivenBackCannotBePinnedAgain() {
    pins.unpin();
    assertFalse(pins.tryPin());
    assertThrows(IllegalStateException.class, pins::unpin);
    assertEquals(1, released.get());
  }

  @Test
  void noPinIsLeftWhenItIsGivenBack() throws InterruptedException {
    int threads = 4;
    AtomicInteger wrong = new AtomicInteger();
    CountDownLatch ready = new CountDownLatch(threads);
    List<Thread> pinning = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      Thread thread =
          new Thread(
              () -> {
                boolean counted = false;
                while (pins.tryPin()) {
                  if (released.get() > 0) {
                    wrong.incrementAndGet();
                  }
                  pins.unpin();
                  if (!counted) {
                    counted = true;
                    ready.countDown();
                  }
                }
              });
      pinning.add(thread);
      thread.start();
    }
    ready.await();
    pins.unpin();
    for (Thread thread : pinning) {
      thread.join();
    }
    assertEquals(0, wrong.get());
    assertEquals(1, released.get());
  }
}
