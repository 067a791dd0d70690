package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.RefusingScheduler;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** A step of close() fails with an Error: the others are done all the same, and nothing is lost. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
final class CloseFailureTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final int ENTRIES = 100;

  /** Stands for errors of the virtual machine; a real one would end the tests. */
  private static final class Mishap extends Error {
    private static final long serialVersionUID = 1L;

    Mishap() {
      super("as a test wants it");
    }
  }

  /** Random numbers until it is told to throw: a memtable takes one when it is made. */
  private static final class FailingRandom extends Random {
    private static final long serialVersionUID = 1L;

    private boolean fails;

    FailingRandom() {
      super(7);
    }

    @Override
    public long nextLong() {
      if (fails) {
        throw new Mishap();
      }
      return super.nextLong();
    }
  }

  private final FailingRandom random = new FailingRandom();

  private StorageEngine open(CrashableStorage storage, Scheduler scheduler) {
    EngineConfig base = Engines.config(storage, scheduler);
    return StorageEngine.open(ConfigDraft.of(base).random(random).build());
  }

  /** A store with tables, something in its memtable, and an open cursor. */
  private StorageEngine filled(CrashableStorage storage, Scheduler scheduler) {
    StorageEngine engine = open(storage, scheduler);
    for (int i = 0; i < ENTRIES; i++) {
      engine.writes().put(0, key(i), value(i), 0);
      if (i == ENTRIES / 2) {
        engine.flush();
      }
    }
    engine.sync();
    assertTrue(engine.reads().cursor(ALL, StoreReads.LATEST).next());
    return engine;
  }

  private static byte[] key(int i) {
    return ("key-" + i).getBytes(UTF_8);
  }

  private static byte[] value(int i) {
    byte[] value = new byte[200];
    new Random(i).nextBytes(value);
    return value;
  }

  private void checkRecovered(CrashableStorage storage) {
    StorageEngine engine = open(storage, new ManualScheduler(1, 2));
    for (int i = 0; i < ENTRIES; i++) {
      assertArrayEquals(value(i), engine.reads().get(0, key(i), StoreReads.LATEST));
    }
    engine.close();
  }

  private void checkGivenBack(CrashableStorage storage, StorageEngine engine) {
    assertEquals(0, engine.memoryBytes(), "off-heap bytes");
    assertEquals(List.of(), storage.openFiles(), "open files");
    assertThrows(
        StoreClosedException.class, () -> engine.reads().get(0, key(0), StoreReads.LATEST));
    // Nothing: the first close() did all there is to do.
    engine.close();
    checkRecovered(storage.crashSyncedOnly());
  }

  @Test
  void anErrorOfAnyCallOfTheStorageIsToldAndEverythingGivenBack() {
    CrashableStorage sound = new CrashableStorage();
    StorageEngine whole = filled(sound, new ManualScheduler(1, 2));
    long before = sound.operationCount();
    whole.close();
    long operations = sound.operationCount() - before;
    assertTrue(operations > 5, "calls of close(): " + operations);
    for (boolean lasting : new boolean[] {false, true}) {
      for (long at = 1; at <= operations; at++) {
        CrashableStorage storage = new CrashableStorage();
        StorageEngine engine = filled(storage, new ManualScheduler(1, 2));
        long first = at;
        long[] calls = new long[1];
        storage.failAt(
            1,
            Fault.EIO,
            /* sticky= */ true,
            (operation, name) -> {
              calls[0]++;
              if (calls[0] == first || (lasting && calls[0] > first)) {
                throw new Mishap();
              }
              return false;
            });
        assertThrows(Mishap.class, engine::close, "call " + at);
        storage.clearFaults();
        checkGivenBack(storage, engine);
      }
    }
  }

  @Test
  void anErrorWhileAMemtableIsMadeIsToldAndEverythingGivenBack() {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine = filled(storage, new ManualScheduler(1, 2));
    random.fails = true;
    StoreFailedException failed = assertThrows(StoreFailedException.class, engine::close);
    assertInstanceOf(Mishap.class, failed.getCause());
    random.fails = false;
    checkGivenBack(storage, engine);
  }

  /** What may still be running uses the memory, and writes into files that the lock protects. */
  @Test
  void nothingIsGivenBackWhileBackgroundJobsMayGoOn() {
    CrashableStorage storage = new CrashableStorage();
    ManualScheduler manual = new ManualScheduler(1, 2);
    RefusingScheduler scheduler = new RefusingScheduler(manual);
    StorageEngine engine = filled(storage, scheduler);
    Mishap mishap = new Mishap();
    scheduler.failClose(mishap);
    assertSame(mishap, assertThrows(Mishap.class, engine::close));
    assertTrue(engine.memoryBytes() > 0);
    assertThrows(
        StoreClosedException.class, () -> engine.reads().get(0, key(0), StoreReads.LATEST));
    assertThrows(StoreLockedException.class, () -> open(storage, new ManualScheduler(1, 2)));
    // Jobs that come to their turn now.
    manual.tick();
    manual.runAll();
    checkRecovered(storage.crashKeepingAll());
  }

  /** Those of an attempt to open end in the same way. */
  @Test
  void anErrorWhileOpeningGivesEverythingBack() {
    CrashableStorage storage = new CrashableStorage();
    filled(storage, new ManualScheduler(1, 2)).close();
    CrashableStorage closed = storage.crashSyncedOnly();
    random.fails = true;
    assertThrows(Mishap.class, () -> open(closed, new ManualScheduler(1, 2)));
    assertEquals(List.of(), closed.openFiles(), "open files");
    random.fails = false;
    checkRecovered(closed.crashKeepingAll());
  }
}
