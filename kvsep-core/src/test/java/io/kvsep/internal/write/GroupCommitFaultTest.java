package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Parked;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * Several writers whose commits go into the log with one write, and that write fails: each of them
 * is told the truth, whatever of the group reached the file.
 */
final class GroupCommitFaultTest {
  private static final int WRITERS = 4;

  /** What became of each writer's key; true when its put returned. */
  private record Outcome(
      CrashableStorage storage, StorageEngine engine, Map<String, Boolean> puts) {}

  @Test
  void aGroupWhoseWriteFailedOnceIsRepeatedOneByOne() throws InterruptedException {
    Outcome outcome = run(/* lasting= */ false, /* cuts= */ true);
    assertTrue(outcome.puts().values().stream().allMatch(put -> put), outcome.puts()::toString);
    check(outcome.engine(), outcome.puts());
    outcome.engine().close();
    reopenAndCheck(outcome.storage().crashSyncedOnly(), outcome.puts());
  }

  @Test
  void whatWasRefusedStaysAwayAfterAClose() throws InterruptedException {
    Outcome outcome = refused(/* cuts= */ false);
    outcome.engine().close();
    reopenAndCheck(outcome.storage().crashSyncedOnly(), outcome.puts());
  }

  @Test
  void whatWasRefusedStaysAwayAfterACloseOfAFlushedStore() throws InterruptedException {
    Outcome outcome = refused(/* cuts= */ false);
    outcome.engine().flush();
    outcome.engine().close();
    reopenAndCheck(outcome.storage().crashSyncedOnly(), outcome.puts());
  }

  @Test
  void whatWasRefusedStaysAwayAfterALaterWrite() throws InterruptedException {
    Outcome outcome = refused(/* cuts= */ false);
    outcome.engine().writes().put(0, "later".getBytes(UTF_8), new byte[3], 0);
    outcome.puts().put("later", true);
    CrashableStorage killed = outcome.storage().crashKeepingAll();
    abandon(outcome.engine());
    reopenAndCheck(killed, outcome.puts());
  }

  @Test
  void whatWasRefusedStaysAwayWhenTheProcessDies() throws InterruptedException {
    // Here the device still cuts off: where it refuses that too, the outcome cannot be known.
    Outcome outcome = refused(/* cuts= */ true);
    CrashableStorage killed = outcome.storage().crashKeepingAll();
    abandon(outcome.engine());
    reopenAndCheck(killed, outcome.puts());
  }

  /** Even if the power failure undoes the cut, so that the remains of the group are there again. */
  @Test
  void whatWasRefusedStaysAwayWhenThePowerFails() throws InterruptedException {
    Outcome outcome = refused(/* cuts= */ true);
    List<CrashableStorage> states = outcome.storage().crashStates(500);
    abandon(outcome.engine());
    Map<String, Boolean> refused = new TreeMap<>(outcome.puts());
    refused.values().removeIf(succeeded -> succeeded);
    for (CrashableStorage after : states) {
      reopenAndCheck(after, refused);
    }
  }

  /** A copy of the log begins where no frame has the numbers of what was refused. */
  @Test
  void numbersOfWhatWasRefusedAreNotGivenOutInACopy() throws Exception {
    Outcome outcome = refused(/* cuts= */ true);
    // Its first entry has the first one.
    long numbersUsed = 1 + WRITERS;
    outcome.engine().backups().checkpoint(Path.of("copy"));
    CrashableStorage files = outcome.storage().detached("copy");
    try (StorageEngine copy =
        StorageEngine.open(Variant.SEPARATED.config(files, new ManualScheduler(1, 1)))) {
      check(copy, outcome.puts());
      long number = copy.writes().put(0, "later".getBytes(UTF_8), new byte[3], 0);
      assertTrue(number > numbersUsed, () -> number + " was given out before");
      assertEquals(List.of(), copy.verify().problems());
    }
    outcome.engine().close();
  }

  /** The next write has the segment sealed, and is lost itself: only the seal knows of them. */
  @Test
  void numbersOfWhatWasRefusedAreNotGivenOutAfterAPowerFailure() throws InterruptedException {
    Outcome outcome = refused(/* cuts= */ false);
    long numbersUsed = 1 + WRITERS;
    outcome.storage().clearFaults();
    outcome.engine().sync();
    outcome.engine().writes().put(0, "lost".getBytes(UTF_8), new byte[3], 0);
    CrashableStorage powerless = outcome.storage().crashSyncedOnly();
    abandon(outcome.engine());
    try (StorageEngine again =
        StorageEngine.open(Variant.SEPARATED.config(powerless, new ManualScheduler(1, 1)))) {
      long number = again.writes().put(0, "later".getBytes(UTF_8), new byte[3], 0);
      assertTrue(number > numbersUsed, () -> number + " was given out before");
    }
  }

  /** Of a single writer, whose frame is written alone. */
  @Test
  void aNumberThatWasRefusedIsNotGivenOutAfterAPowerFailure() {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine =
        StorageEngine.open(Variant.SEPARATED.config(storage, new ManualScheduler(1, 1)));
    engine.writes().put(0, "first".getBytes(UTF_8), new byte[3], 0);
    storage.failAt(
        1, Fault.SHORT_WRITE, /* sticky= */ false, GroupCommitFaultTest::isWriteOfTheLog);
    storage.failAt(1, Fault.EIO, /* sticky= */ true, op -> op == Operation.TRUNCATE);
    assertThrows(
        StorageException.class,
        () -> engine.writes().put(0, "refused".getBytes(UTF_8), new byte[3], 0));
    storage.clearFaults();
    engine.sync();
    engine.writes().put(0, "lost".getBytes(UTF_8), new byte[3], 0);
    CrashableStorage powerless = storage.crashSyncedOnly();
    abandon(engine);
    try (StorageEngine again =
        StorageEngine.open(Variant.SEPARATED.config(powerless, new ManualScheduler(1, 1)))) {
      long number = again.writes().put(0, "later".getBytes(UTF_8), new byte[3], 0);
      assertTrue(number > 2, () -> number + " was given out before");
    }
  }

  private static boolean isWriteOfTheLog(Operation operation, String name) {
    return operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
  }

  /**
   * As on a full disk, where nothing can be begun, and a system that cuts no file that is mapped.
   */
  @Test
  void whatWasRefusedStaysAwayWhereItCanOnlyBeOverwritten() throws InterruptedException {
    Outcome outcome =
        refused(
            run(
                storage -> {
                  storage.failAt(1, Fault.EIO, /* sticky= */ true, op -> op == Operation.TRUNCATE);
                  storage.failAt(1, Fault.ENOSPC, /* sticky= */ true, op -> op == Operation.CREATE);
                }));
    CrashableStorage killed = outcome.storage().crashKeepingAll();
    List<CrashableStorage> powerless = outcome.storage().crashStates(100);
    abandon(outcome.engine());
    reopenAndCheck(killed, outcome.puts());
    Map<String, Boolean> refused = new TreeMap<>(outcome.puts());
    refused.values().removeIf(succeeded -> succeeded);
    for (CrashableStorage after : powerless) {
      reopenAndCheck(after, refused);
    }
  }

  private static Outcome refused(boolean cuts) throws InterruptedException {
    return refused(run(/* lasting= */ true, cuts));
  }

  private static Outcome refused(Outcome outcome) {
    long succeeded = outcome.puts().values().stream().filter(put -> put).count();
    assertEquals(1, succeeded, "only the leader of the first group wrote");
    check(outcome.engine(), outcome.puts());
    return outcome;
  }

  /**
   * As below.
   *
   * @param lasting whether the device goes on failing while the group is repeated
   * @param cuts whether what reached the file can be cut off
   */
  private static Outcome run(boolean lasting, boolean cuts) throws InterruptedException {
    return run(
        storage -> {
          if (lasting) {
            storage.failAt(3, Fault.EIO, /* sticky= */ true, GroupCommitFaultTest::isLogWrite);
          }
          if (!cuts) {
            storage.failAt(1, Fault.EIO, /* sticky= */ true, op -> op == Operation.TRUNCATE);
          }
        });
  }

  /**
   * Holds the first writer in its write until all others wait behind it; these then form the second
   * group, whose write fails in the middle.
   *
   * @param more plans what else fails
   */
  private static Outcome run(Consumer<CrashableStorage> more) throws InterruptedException {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine =
        StorageEngine.open(Variant.SEPARATED.config(storage, new ManualScheduler(1, 1)));
    engine.writes().put(0, "first".getBytes(UTF_8), new byte[3], 0);
    Map<String, Boolean> puts = new ConcurrentHashMap<>(Map.of("first", true));
    List<Thread> followers = new ArrayList<>();
    CountDownLatch held = new CountDownLatch(1);
    AtomicBoolean first = new AtomicBoolean(true);
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) -> {
          if (isLogWrite(operation, name) && first.compareAndSet(true, false)) {
            held.countDown();
            Parked.await(followers);
          }
          return false;
        });
    storage.failAt(2, Fault.SHORT_WRITE, /* sticky= */ false, GroupCommitFaultTest::isLogWrite);
    more.accept(storage);
    Thread leader = new Thread(() -> put(engine, "leader", puts));
    for (int i = 0; i < WRITERS - 1; i++) {
      String key = "follower-" + i;
      followers.add(new Thread(() -> put(engine, key, puts)));
    }
    leader.start();
    held.await();
    followers.forEach(Thread::start);
    leader.join(TimeUnit.SECONDS.toMillis(60));
    for (Thread follower : followers) {
      follower.join(TimeUnit.SECONDS.toMillis(60));
    }
    assertEquals(WRITERS + 1, puts.size(), "every writer was told something");
    storage.clearFaults();
    Map<String, Boolean> told = new TreeMap<>(puts);
    told.remove("first");
    return new Outcome(storage, engine, told);
  }

  private static boolean isLogWrite(Operation operation, String name) {
    return operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
  }

  private static void put(StorageEngine engine, String key, Map<String, Boolean> puts) {
    try {
      engine.writes().put(0, key.getBytes(UTF_8), value(key), 0);
      puts.put(key, true);
    } catch (StorageException e) {
      puts.put(key, false);
    }
  }

  private static byte[] value(String key) {
    return (key.equals("later") ? "xyz" : key).getBytes(UTF_8);
  }

  private static void reopenAndCheck(CrashableStorage storage, Map<String, Boolean> puts) {
    StorageEngine engine =
        StorageEngine.open(Variant.SEPARATED.config(storage, new ManualScheduler(1, 1)));
    check(engine, puts);
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private static void check(StorageEngine engine, Map<String, Boolean> puts) {
    puts.forEach(
        (key, succeeded) -> {
          byte[] found = engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
          if (!succeeded) {
            assertNull(found, () -> key + " was refused and is there");
          } else if (!key.equals("later")) {
            assertArrayEquals(value(key), found);
          }
        });
  }

  private static void abandon(StorageEngine engine) {
    try {
      engine.close();
    } catch (RuntimeException e) {
      // Its storage has crashed.
    }
  }
}
