package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Parked;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** The store fails with a batch in the log and half of it in the memtable. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
final class FailedInsertTest {
  /** More than one memtable takes, and less than two. */
  private static final int ENTRIES = 200;

  /** Memtables that were made; each takes a random number. */
  private final AtomicInteger memtables = new AtomicInteger();

  private final AtomicReference<Runnable> beforeNext = new AtomicReference<>(() -> {});

  @Test
  void aMemtableForWhichThereIsNoMemoryFailsTheStore() {
    CrashableStorage storage = new CrashableStorage();
    boolean[] scarce = new boolean[1];
    Random numbers = new Random(7);
    RandomGenerator random =
        () -> {
          if (scarce[0]) {
            throw new OutOfMemoryError("as the test wants it");
          }
          return numbers.nextLong();
        };
    EngineConfig config = Engines.config(storage, new ManualScheduler(1, 1));
    StorageEngine engine = StorageEngine.open(ConfigDraft.of(config).random(random).build());
    scarce[0] = true;
    int[] written = new int[1];
    StoreFailedException failed =
        assertThrows(
            StoreFailedException.class,
            () -> {
              for (; written[0] < 100_000; written[0]++) {
                engine.writes().put(0, key(written[0]), value(written[0]), 0);
              }
            });
    assertInstanceOf(OutOfMemoryError.class, failed.getCause());
    assertThrows(StoreFailedException.class, engine::close);
    assertEquals(0, engine.memoryBytes());
    try (StorageEngine recovered =
        Engines.open(storage.crashKeepingAll(), new ManualScheduler(1, 1))) {
      for (int i = 0; i < written[0]; i++) {
        assertArrayEquals(value(i), recovered.reads().get(0, key(i), StoreReads.LATEST));
      }
    }
  }

  /**
   * Behind the batch a memtable would say that all in front of it is flushed once the other one is,
   * which a flush under way may be about to write.
   */
  @Test
  void aFlushThatWaitedForTheWriterBeginsNoMemtable() throws InterruptedException {
    CrashableStorage storage = new CrashableStorage();
    Random numbers = new Random(7);
    RandomGenerator random =
        () -> {
          beforeNext.getAndSet(() -> {}).run();
          memtables.incrementAndGet();
          return numbers.nextLong();
        };
    EngineConfig config = Engines.config(storage, new ManualScheduler(1, 1));
    StorageEngine engine = StorageEngine.open(ConfigDraft.of(config).random(random).build());
    int before = memtables.get();
    Thread flusher =
        new Thread(() -> assertThrows(StoreFailedException.class, () -> engine.flush()));
    Runnable second =
        () -> {
          flusher.start();
          Parked.await(List.of(flusher));
          throw new IllegalStateException("as the test wants it");
        };
    beforeNext.set(() -> beforeNext.set(second));
    BatchWrites batch = new BatchWrites();
    for (int i = 0; i < ENTRIES; i++) {
      batch.put(0, key(i), value(i), 0);
    }
    assertThrows(StoreFailedException.class, () -> engine.writes().write(batch, null));
    flusher.join();

    assertEquals(before + 1, memtables.get());
    assertThrows(StoreFailedException.class, engine::close);
    assertEquals(0, engine.memoryBytes());
    try (StorageEngine recovered =
        Engines.open(storage.crashKeepingAll(), new ManualScheduler(1, 1))) {
      for (int i = 0; i < ENTRIES; i++) {
        assertArrayEquals(value(i), recovered.reads().get(0, key(i), StoreReads.LATEST));
      }
    }
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  private static byte[] value(int i) {
    byte[] value = new byte[20];
    new Random(i).nextBytes(value);
    return value;
  }
}
