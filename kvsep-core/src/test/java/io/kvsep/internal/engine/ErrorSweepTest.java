package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/**
 * Memory runs out at any file operation of a writer or of a background job: the store fails with
 * that error as the cause, no thread hangs, and a new open has every acknowledged write.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
final class ErrorSweepTest {
  private static final int WRITES = 150;
  private static final int THREADS = 4;

  private final Set<Integer> acknowledged = ConcurrentHashMap.newKeySet();

  @Test
  void anErrorAtAnyOperationFailsTheStoreAndLosesNothing() {
    int at = 1;
    while (isReached(at)) {
      at += at < 100 ? 1 : 7;
    }
    assertTrue(at > 100, () -> "the sweep has operations");
  }

  /** Writes with an OutOfMemoryError at this operation; returns whether there were so many. */
  private boolean isReached(int operation) {
    acknowledged.clear();
    CrashableStorage storage = new CrashableStorage();
    ManualScheduler scheduler = new ManualScheduler(operation, 1);
    StorageEngine engine = Engines.open(storage, scheduler);
    failAt(storage, operation, /* logOnly= */ false);
    StoreFailedException failed = null;
    try {
      for (int i = 0; i < WRITES; i++) {
        put(engine, i);
        if (i % 5 == 0) {
          scheduler.tick();
          scheduler.runAll();
        }
      }
      put(engine, WRITES);
    } catch (StoreFailedException e) {
      failed = e;
    }
    storage.clearFaults();
    if (failed == null) {
      assertFalse(engine.stats().failed(), () -> "operation " + operation);
      engine.close();
    } else {
      assertInstanceOf(OutOfMemoryError.class, failed.getCause());
      assertThrows(StoreFailedException.class, engine::close);
    }
    assertEquals(0, engine.memoryBytes(), () -> "operation " + operation);
    check(storage, "operation " + operation);
    return failed != null;
  }

  @Test
  void noWriterHangs() throws InterruptedException {
    for (int operation = 1; operation < 40; operation += 3) {
      acknowledged.clear();
      CrashableStorage storage = new CrashableStorage();
      StorageEngine engine = Engines.open(storage, new ThreadScheduler(2));
      failAt(storage, operation, /* logOnly= */ true);
      List<Throwable> others = new ArrayList<>();
      List<Thread> writers = new ArrayList<>();
      for (int writer = 0; writer < THREADS; writer++) {
        int first = writer * WRITES;
        writers.add(
            new Thread(
                () -> {
                  try {
                    for (int i = 0; i < WRITES; i++) {
                      put(engine, first + i);
                    }
                  } catch (StoreFailedException e) {
                    return;
                  } catch (RuntimeException | Error e) {
                    synchronized (others) {
                      others.add(e);
                    }
                  }
                }));
      }
      writers.forEach(Thread::start);
      for (Thread writer : writers) {
        writer.join();
      }
      assertEquals(List.of(), others);
      storage.clearFaults();
      assertThrows(StoreFailedException.class, engine::close);
      check(storage, "operation " + operation);
    }
  }

  private static void failAt(CrashableStorage storage, int operation, boolean logOnly) {
    AtomicInteger operations = new AtomicInteger();
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (kind, name) -> {
          boolean counts =
              kind == Operation.WRITE || kind == Operation.SYNC || kind == Operation.CREATE;
          if (counts
              && (!logOnly || StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT)
              && operations.incrementAndGet() == operation) {
            throw new OutOfMemoryError("as a test wants it");
          }
          return false;
        });
  }

  private void put(StorageEngine engine, int i) {
    engine.writes().put(0, key(i), value(i), 0);
    acknowledged.add(i);
  }

  private void check(CrashableStorage storage, String what) {
    try (StorageEngine engine =
        Engines.open(storage.crashKeepingAll(), new ManualScheduler(1, 1))) {
      for (int i : acknowledged) {
        assertArrayEquals(value(i), engine.reads().get(0, key(i), StoreReads.LATEST), what);
      }
    }
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static byte[] value(int i) {
    byte[] value = new byte[300];
    new Random(i).nextBytes(value);
    return value;
  }
}
