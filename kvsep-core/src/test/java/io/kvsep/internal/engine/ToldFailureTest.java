package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.StoreWrites;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Parked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A caller that may lose something by a failure gets the error, also when another call met it. */
final class ToldFailureTest {
  private static final String DONE = "done";

  private final Map<String, Object> told = new ConcurrentHashMap<>();

  private static boolean isLog(String name) {
    return StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
  }

  private static byte[] key(String name) {
    return name.getBytes(UTF_8);
  }

  private static boolean holds(StorageEngine engine, String name) {
    return engine.reads().get(0, key(name), StoreReads.LATEST) != null;
  }

  private Thread thread(String name, Runnable call) {
    return new Thread(
        () -> {
          try {
            call.run();
            told.put(name, DONE);
          } catch (RuntimeException | Error e) {
            told.put(name, e);
          }
        });
  }

  /** The system tells of a sync that failed once; the next one looks as if all were well. */
  @Test
  void whoWaitedForASyncThatFailedIsToldToo() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine =
        StorageEngine.open(Variant.SEPARATED.config(storage, new ManualScheduler(1, 1)));
    engine.writes().put(0, key("k"), new byte[300], 0);
    Thread second = thread("second", engine::sync);
    AtomicBoolean first = new AtomicBoolean(true);
    storage.failAt(
        1,
        Fault.SYNC_FAILS,
        false,
        (operation, name) -> {
          boolean syncs = operation == Operation.SYNC && isLog(name);
          if (syncs && first.compareAndSet(true, false)) {
            second.start();
            Parked.await(List.of(second));
          }
          return syncs;
        });
    Thread one = thread("first", engine::sync);
    one.start();
    one.join();
    second.join();

    assertTrue(told.get("first") instanceof StoreFailedException, () -> told.toString());
    assertTrue(told.get("second") instanceof StoreFailedException, () -> told.toString());
    assertThrows(StoreFailedException.class, engine::close);
  }

  /** As when it compares with a value for which the heap has no room. */
  @Test
  void anErrorWhileAConditionIsLookedAtIsToldToItsWriterAlone() {
    CrashableStorage storage = new CrashableStorage();
    AtomicBoolean exhausted = new AtomicBoolean();
    ManualClock clock =
        new ManualClock(1_000) {
          @Override
          public long millis() {
            if (exhausted.get()) {
              throw new OutOfMemoryError("as a test wants it");
            }
            return super.millis();
          }
        };
    ManualScheduler scheduler = new ManualScheduler(1, 1);
    try (StorageEngine engine =
        StorageEngine.open(
            Engines.config(storage, CommitSync.ON_DEMAND, clock, new Random(1), scheduler))) {
      StoreWrites writes = engine.writes();
      // The reader of it looks at the clock.
      writes.put(0, key("a"), new byte[8], 1_000_000);
      exhausted.set(true);
      assertThrows(
          OutOfMemoryError.class,
          () -> writes.compareAndSet(0, key("a"), new byte[8], new byte[3]));
      assertThrows(OutOfMemoryError.class, () -> writes.increment(0, key("a"), 1));
      exhausted.set(false);
      writes.put(0, key("b"), new byte[3], 0);
      assertTrue(holds(engine, "b"));
      assertEquals(1, writes.increment(0, key("a"), 1));
    }
  }

  @Test
  void anErrorWhileAGroupIsRepeatedReachesAllWritersBehindIt() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine =
        StorageEngine.open(Variant.SEPARATED.config(storage, new ManualScheduler(1, 1)));
    engine.writes().put(0, key("first"), new byte[3], 0);
    List<Thread> followers = new ArrayList<>();
    CountDownLatch held = new CountDownLatch(1);
    AtomicInteger writes = new AtomicInteger();
    storage.failAt(
        1,
        Fault.EIO,
        true,
        (operation, name) -> {
          if (operation != Operation.WRITE || !isLog(name)) {
            return false;
          }
          int write = writes.incrementAndGet();
          if (write == 1) {
            held.countDown();
            Parked.await(followers);
          } else if (write == 3) {
            throw new OutOfMemoryError("as a test wants it");
          }
          return write == 2;
        });
    for (int i = 0; i < 3; i++) {
      String name = "follower" + i;
      followers.add(thread(name, () -> engine.writes().put(0, key(name), key(name), 0)));
    }
    Thread leader = thread("leader", () -> engine.writes().put(0, key("leader"), key("v"), 0));
    leader.start();
    held.await();
    followers.forEach(Thread::start);
    leader.join();
    for (Thread follower : followers) {
      follower.join();
    }

    assertEquals(DONE, told.get("leader"));
    for (int i = 0; i < 3; i++) {
      assertTrue(told.get("follower" + i) instanceof Throwable, "nothing of it was written");
      assertTrue(!holds(engine, "follower" + i));
    }
    assertThrows(StoreFailedException.class, engine::close);
  }

  @Test
  void aRefusedWriteThatCouldNotBeCutOffIsGoneAfterAClose() {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine =
        StorageEngine.open(
            OptionSet.LOG_ONLY.config(storage, new ManualClock(1_000), new ManualScheduler(1, 1)));
    engine.writes().put(0, key("first"), new byte[300], 0);
    storage.failAt(
        1, Fault.LATE_EIO, false, (operation, name) -> operation == Operation.WRITE && isLog(name));
    storage.failAt(1, Fault.EIO, false, operation -> operation == Operation.TRUNCATE);
    assertThrows(
        StorageException.class, () -> engine.writes().put(0, key("refused"), new byte[300], 0));
    storage.clearFaults();
    engine.close();

    StorageEngine again =
        StorageEngine.open(
            OptionSet.LOG_ONLY.config(
                storage.crashKeepingAll(), new ManualClock(1_000), new ManualScheduler(1, 1)));
    assertNotNull(again.reads().get(0, key("first"), StoreReads.LATEST));
    assertNull(again.reads().get(0, key("refused"), StoreReads.LATEST));
    again.close();
  }

  /**
   * The cut itself is not durable yet when the process dies, and power fails under the next one.
   */
  @Test
  void aRefusedWriteThatWasCutOffDoesNotComeBackInAStoreThatOpenedWithoutIt() {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine = openLogOnly(storage);
    engine.writes().put(0, key("first"), new byte[300], 0);
    // Nothing is left to be replayed, which would be written anew.
    engine.flush();
    AtomicBoolean cut = new AtomicBoolean();
    storage.failAt(
        1, Fault.LATE_EIO, false, (operation, name) -> operation == Operation.WRITE && isLog(name));
    storage.failAt(
        1,
        Fault.EIO,
        false,
        (operation, name) -> {
          cut.compareAndSet(false, operation == Operation.TRUNCATE && isLog(name));
          return cut.get() && operation == Operation.SYNC && isLog(name);
        });
    assertThrows(
        StoreFailedException.class, () -> engine.writes().put(0, key("refused"), new byte[300], 0));
    assertTrue(cut.get());

    CrashableStorage killed = storage.crashKeepingAll();
    StorageEngine opened = openLogOnly(killed);
    assertTrue(holds(opened, "first") && !holds(opened, "refused"));
    List<CrashableStorage> crashed = killed.moment().crashStates(100);
    opened.close();
    for (CrashableStorage state : crashed) {
      StorageEngine again = openLogOnly(state);
      assertTrue(holds(again, "first") && !holds(again, "refused"));
      again.close();
    }
  }

  private static StorageEngine openLogOnly(CrashableStorage storage) {
    return StorageEngine.open(
        OptionSet.LOG_ONLY.config(storage, new ManualClock(1_000), new ManualScheduler(1, 1)));
  }

  /** The manifest may have the spare then, and the log does not. */
  @Test
  void aSpareThatMetAnErrorFailsTheStore() {
    CrashableStorage storage = new CrashableStorage();
    ManualScheduler scheduler = new ManualScheduler(1, 1);
    StorageEngine engine = openShortSegments(storage, scheduler);
    putSynced(engine, 0, 7);
    storage.failAt(
        1,
        Fault.EIO,
        false,
        (operation, name) -> {
          if (operation == Operation.SYNC && StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST) {
            throw new OutOfMemoryError("as a test wants it");
          }
          return false;
        });
    scheduler.runAll();
    storage.clearFaults();
    assertThrows(StoreFailedException.class, () -> putSynced(engine, 7, 8));
    for (CrashableStorage state :
        List.of(storage.moment().crashSyncedOnly(), storage.moment().crashKeepingAll())) {
      StorageEngine again = openShortSegments(state, new ManualScheduler(1, 1));
      for (int i = 0; i < 7; i++) {
        assertTrue(holds(again, "written " + i), "written " + i);
      }
      again.close();
    }
    assertThrows(StoreFailedException.class, engine::close);
  }

  /** What is written to a segment that has ended in the manifest is not found again. */
  @Test
  void nothingIsWrittenBehindAnErrorInTheEndOfASegment() {
    CrashableStorage storage = new CrashableStorage();
    AtomicBoolean fails = new AtomicBoolean();
    ForwardingStorage scarce =
        new ForwardingStorage(storage) {
          @Override
          protected StorageFile wrap(StorageFile file) {
            return new ForwardingFile(file) {
              @Override
              public void close() throws IOException {
                super.close();
                if (isLog(name()) && fails.getAndSet(false)) {
                  throw new OutOfMemoryError("as a test wants it");
                }
              }
            };
          }
        };
    StorageEngine engine =
        StorageEngine.open(
            ConfigDraft.of(Engines.config(storage, new ManualScheduler(1, 1)))
                .storage(scarce)
                .build());
    putSynced(engine, 0, 4);
    for (int i = 0; i < 4; i++) {
      engine.writes().delete(0, key("written " + i));
    }
    fails.set(true);
    assertThrows(StoreFailedException.class, engine::flush);
    assertFalse(fails.get());
    assertThrows(
        StoreFailedException.class, () -> engine.writes().put(0, key("late"), key("v"), 0));
    assertThrows(StoreFailedException.class, engine::close);
  }

  private static StorageEngine openShortSegments(
      CrashableStorage storage, ManualScheduler scheduler) {
    return StorageEngine.open(
        ConfigDraft.of(Engines.config(storage, scheduler)).segmentBytes(8 << 10).build());
  }

  private static void putSynced(StorageEngine engine, int from, int to) {
    for (int i = from; i < to; i++) {
      byte[] value = new byte[1000];
      new Random(i).nextBytes(value);
      engine.writes().put(0, key("written " + i), value, 0);
    }
    engine.sync();
  }

  /** An edit that failed may stand in the manifest, and with it the end of the log. */
  @Test
  void whatIsWrittenBehindAFailedSealIsThereAfterACrash() {
    for (Variant variant : List.of(Variant.INLINE, Variant.SEPARATED)) {
      for (Step step : List.of(Step.FLUSH, Step.COMPACT, Step.RECLAIM)) {
        CrashableStorage sound = new CrashableStorage();
        TrackedEngine whole = filled(sound, variant);
        long before = sound.operationCount();
        whole.run(step);
        long operations = sound.operationCount() - before;
        whole.close();
        for (long at = 1; at <= operations; at++) {
          CrashableStorage storage = new CrashableStorage();
          TrackedEngine tracked = filled(storage, variant);
          storage.failAt(at, Fault.LATE_EIO, false);
          tracked.run(step);
          // Without another edit, which would begin a manifest.
          tracked.run(Step.PUT_SYNCED);
          tracked.checkRecovered(storage.crashSyncedOnly());
          tracked.checkRecovered(storage.crashKeepingAll());
          tracked.close();
        }
      }
    }
  }

  private static TrackedEngine filled(CrashableStorage storage, Variant variant) {
    TrackedEngine tracked = new TrackedEngine(storage, variant, false);
    tracked.open();
    for (Step step : List.of(Step.PUT_SYNCED, Step.BATCH, Step.DELETE)) {
      tracked.run(step);
    }
    return tracked;
  }
}
