package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvsep.error.StoreClosedException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls that need all other threads to pause succeed, however busy those threads are. */
@Timeout(value = 60, unit = TimeUnit.SECONDS) // what is tried here hangs when it fails
final class BusyStoreTest {
  private static final int THREADS = 4;

  @TempDir Path directory;

  private final AtomicBoolean stop = new AtomicBoolean();
  private final AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
  private final List<Thread> threads = new ArrayList<>();

  @Test
  void flushAndCompactEndBesideWritersThatNeverPause() throws InterruptedException {
    try (KvStore store = KvStore.open(directory)) {
      for (int n = 0; n < THREADS; n++) {
        byte[] key = {1, (byte) n};
        store.put(key, counter(0));
        start(() -> increment(store, key));
      }
      for (int i = 0; i < 20; i++) {
        store.flush();
        store.compact();
      }
      stopAll();
      long written = 0;
      for (int n = 0; n < THREADS; n++) {
        byte[] value = store.get(new byte[] {1, (byte) n});
        written += value == null ? 0 : ByteBuffer.wrap(value).getLong();
      }
      assertEquals(written + THREADS, store.stats().commits());
    }
  }

  @Test
  void closeEndsWhileOthersGoOnCalling() throws InterruptedException {
    KvStore store = KvStore.open(directory);
    store.put(new byte[] {1}, new byte[] {2});
    for (int n = 0; n < 8 * THREADS; n++) {
      start(() -> callAgainAndAgain(store));
    }
    store.close();
    stopAll();
    try (KvStore reopened = KvStore.open(directory)) {
      assertArrayEquals(new byte[] {2}, reopened.get(new byte[] {1}));
    }
  }

  private void increment(KvStore store, byte[] key) {
    for (long value = 0; !stop.get(); value++) {
      if (!store.compareAndSet(key, counter(value), counter(value + 1))) {
        throw new AssertionError("no other thread writes this key");
      }
    }
  }

  private void callAgainAndAgain(KvStore store) {
    while (!stop.get()) {
      try {
        store.get(new byte[] {1});
        store.delete(new byte[] {3});
      } catch (StoreClosedException e) {
        // As it should be once the store is closed; go on all the same.
        Thread.onSpinWait();
      }
    }
  }

  private void start(Runnable work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (Throwable e) {
                failed.compareAndSet(null, e);
              }
            });
    threads.add(thread);
    thread.start();
  }

  private void stopAll() throws InterruptedException {
    stop.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    assertNull(failed.get());
  }

  private static byte[] counter(long value) {
    return ByteBuffer.allocate(8).putLong(value).array();
  }
}
