package io.kvsep.internal.load;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TestLoad;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.verify.VerifyResult;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingScheduler;
import io.kvsep.testing.Parked;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The last merge of a bulk load is done in two halves, one of which may fail. */
final class BulkLoadHalvesTest {
  private static final int ENTRIES = 24_000;

  /** How many tables a half makes before it looks whether the other one goes on. */
  private static final int TABLES_UNTIL_LOOK = 10;

  private final CrashableStorage behind = new CrashableStorage();
  private final Thread caller = Thread.currentThread();
  private final CountDownLatch upperEnded = new CountDownLatch(1);
  private final IOException refused = new IOException("on purpose");

  private final CountDownLatch failed = new CountDownLatch(1);

  /** Whether the whole input was handed in, so that the next piece of work is the upper half. */
  private volatile boolean ended;

  private volatile boolean merging;

  private volatile @Nullable Half failing;

  private final AtomicInteger lowerTables = new AtomicInteger();
  private final AtomicInteger upperTables = new AtomicInteger();

  private enum Half {
    LOWER,
    UPPER
  }

  private StorageEngine open() {
    return StorageEngine.open(
        ConfigDraft.of(Engines.config(new HalvesStorage(), new HalvesScheduler()))
            .shape(Engines.withMemtables(512 << 10))
            .build());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whenOneHalfFailsTheOtherStops(boolean lower) throws IOException {
    try (StorageEngine engine = open()) {
      List<String> before = behind.list();
      failing = lower ? Half.LOWER : Half.UPPER;
      StorageException told = assertThrows(StorageException.class, () -> load(engine));
      assertSame(refused, told.getCause());
      int tables = lower ? upperTables.get() : lowerTables.get();
      assertTrue(tables <= TABLES_UNTIL_LOOK, () -> tables + " tables for nothing");
      assertEquals(before, behind.list());
      assertEquals(0L, engine.stats().memoryBytes().getOrDefault("bulk_load", -1L));
      failing = null;
      load(engine);
      requireAll(engine);
    }
  }

  @Test
  void aHalfThatGoesOnMakesManyTables() {
    try (StorageEngine engine = open()) {
      load(engine);
      int tables = lowerTables.get() + upperTables.get();
      assertTrue(tables > 6 * TABLES_UNTIL_LOOK, () -> tables + " tables");
      requireAll(engine);
    }
  }

  private void load(StorageEngine engine) {
    merging = false;
    ended = false;
    engine
        .loads()
        .load(
            0,
            new TestLoad(
                new Iterator<>() {
                  private int next;

                  @Override
                  public boolean hasNext() {
                    ended = next == ENTRIES;
                    return next < ENTRIES;
                  }

                  @Override
                  public TestLoad.Item next() {
                    // Prime, and no divisor of how many there are.
                    int n = (int) (next++ * 7919L % ENTRIES);
                    return new TestLoad.Item(bytes(n), bytes(-n));
                  }
                }));
  }

  private static void requireAll(StorageEngine engine) {
    for (int n = 0; n < ENTRIES; n++) {
      assertArrayEquals(bytes(-n), engine.reads().get(0, bytes(n), StoreReads.LATEST));
    }
    VerifyResult verified = engine.verify();
    assertEquals(List.of(), verified.problems());
    assertEquals(List.of(), verified.unknownFiles());
  }

  private static byte[] bytes(int n) {
    return ByteBuffer.allocate(16).putInt(n).array();
  }

  /** Returns when the caller's half has failed, and the caller waits for the other. */
  private void awaitLower() {
    await(failed);
    Parked.await(List.of(caller));
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(1, TimeUnit.MINUTES), "the other half never fails");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Begins the upper half on another thread, and tells when it has ended. */
  private final class HalvesScheduler extends ForwardingScheduler {
    HalvesScheduler() {
      super(new ThreadScheduler(2));
    }

    @Override
    public void execute(Lane lane, Runnable task) {
      if (lane != Lane.LOAD || !ended) {
        super.execute(lane, task);
        return;
      }
      merging = true;
      super.execute(
          lane,
          () -> {
            upper.set(true);
            try {
              task.run();
            } finally {
              upper.remove();
              upperEnded.countDown();
            }
          });
    }
  }

  private final ThreadLocal<Boolean> upper = ThreadLocal.withInitial(() -> false);

  /**
   * Counts the tables of each half. Refuses the second one of a half that is to fail, and the other
   * half makes no second one before that is known.
   */
  private final class HalvesStorage extends ForwardingStorage {
    HalvesStorage() {
      super(behind);
    }

    @Override
    public StorageFile create(String name) throws IOException {
      if (name.endsWith(".sst") && upper.get()) {
        begin(Half.UPPER, upperTables.incrementAndGet(), BulkLoadHalvesTest.this::awaitLower);
      } else if (name.endsWith(".sst") && merging && Thread.currentThread() == caller) {
        begin(Half.LOWER, lowerTables.incrementAndGet(), () -> await(upperEnded));
      }
      return super.create(name);
    }

    private void begin(Half half, int tables, Runnable otherFailed) throws IOException {
      Half toFail = failing;
      if (toFail != null && tables == 2) {
        if (half == toFail) {
          failed.countDown();
          throw refused;
        }
        otherFailed.run();
      }
    }
  }
}
