package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A {@code getAll} of very many keys beside what goes on meanwhile. */
final class LongGetAllTest {
  private static final int KEYS = 20_000;

  /** More keys than one group has. */
  private static final int KEYS_BETWEEN = 600;

  private static final byte[] KEY = {1};
  private static final long NEVER_SOON = 1L << 40;

  /** Of a value beside its key and of one in the log. */
  private static final int[] VALUE_BYTES = {10, 1_000};

  /** The reader looks at it once for each key, since all entries expire at some time. */
  private static final class Interrupting extends ManualClock {
    private final Thread reader = Thread.currentThread();
    private @Nullable Runnable meanwhile;
    private int looks;

    Interrupting() {
      super(1_000);
    }

    @Override
    public long millis() {
      Runnable run = meanwhile;
      if (run != null && Thread.currentThread() == reader && ++looks % KEYS_BETWEEN == 0) {
        meanwhile = null;
        run.run();
        meanwhile = run;
      }
      return super.millis();
    }
  }

  private final Interrupting clock = new Interrupting();
  private final StorageEngine engine =
      StorageEngine.open(
          Engines.config(
              new CrashableStorage(),
              CommitSync.ON_DEMAND,
              clock,
              new Random(1),
              new ManualScheduler(1, 1)));

  @AfterEach
  void close() {
    clock.meanwhile = null;
    engine.close();
    assertEquals(0, engine.memoryBytes(), "off-heap bytes after close");
  }

  @Test
  void memtablesThatAreFlushedMeanwhileAreFreed() {
    for (int length : VALUE_BYTES) {
      put(length, 1);
      long memtable = memtableBytes();
      List<Long> pinned = new ArrayList<>();
      clock.meanwhile =
          () -> {
            put(10, 2);
            engine.flush();
            pinned.add(engine.stats().pinned().memtableBytes());
          };
      requireAll(getAll(), length, 1);
      clock.meanwhile = null;
      assertTrue(pinned.size() >= KEYS / KEYS_BETWEEN - 1, pinned::toString);
      // That of the call's moment, and one or two that the group has seen go.
      assertTrue(Collections.max(pinned) <= 3 * memtable, pinned::toString);
      engine.flush();
      assertEquals(0, engine.stats().pinned().memtableBytes());
    }
  }

  @Test
  void closingWaitsForIt() throws InterruptedException {
    put(1_000, 1);
    Thread closer = new Thread(engine::close);
    clock.meanwhile =
        () -> {
          if (closer.getState() == Thread.State.NEW) {
            closer.start();
            awaitClosed();
          }
          assertTrue(closer.isAlive(), "the store is closed beside a read");
        };
    requireAll(getAll(), 1_000, 1);
    closer.join();
    assertEquals(0, engine.memoryBytes(), "off-heap bytes after close");
    assertThrows(StoreClosedException.class, this::getAll);
  }

  /** Returns when no reader gets in any more. */
  private void awaitClosed() {
    while (true) {
      try {
        engine.reads().contains(0, KEY, StoreReads.LATEST);
      } catch (StoreClosedException e) {
        return;
      }
    }
  }

  private List<byte @Nullable []> getAll() {
    return engine.reads().getAll(0, Collections.nCopies(KEYS, KEY), StoreReads.LATEST);
  }

  private void put(int length, int content) {
    engine.writes().put(0, KEY, value(length, content), NEVER_SOON);
  }

  private long memtableBytes() {
    return engine.reads().currentState().get().active().memoryBytes();
  }

  private static void requireAll(List<byte @Nullable []> found, int length, int content) {
    byte[] expected = value(length, content);
    assertEquals(KEYS, found.size());
    for (byte[] value : found) {
      assertArrayEquals(expected, value);
    }
  }

  private static byte[] value(int length, int content) {
    byte[] value = new byte[length];
    Arrays.fill(value, (byte) content);
    return value;
  }
}
