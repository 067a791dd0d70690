package io.kvsep.internal.feed;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Parked;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/**
 * A batch so long that it is encoded while it is written, and changed by then, which is a mistake
 * of its owner. Those whose writes are in the same group have made none.
 */
final class ChangedBatchTest {
  private static final String DONE = "done";
  private static final String BATCH = "2-batch";
  private static final List<String> OTHERS = List.of("1-before", "3-behind", "4-behind");

  private final CrashableStorage storage = new CrashableStorage();
  private final BatchWrites batch = new BatchWrites();
  private final Map<String, Object> told = new ConcurrentHashMap<>();
  private final AtomicBoolean syncsFail = new AtomicBoolean();
  private final StorageEngine engine = open(storage);

  private static StorageEngine open(CrashableStorage storage) {
    return Engines.open(storage, new ManualScheduler(1, 1));
  }

  private static boolean isLogWrite(Operation operation, String name) {
    return operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
  }

  private static byte[] key(String name) {
    return name.getBytes(UTF_8);
  }

  private Thread writer(String name, Runnable write) {
    return new Thread(
        () -> {
          try {
            write.run();
            told.put(name, DONE);
          } catch (RuntimeException | Error e) {
            told.put(name, e);
          }
        });
  }

  private Thread putter(String name) {
    return writer(name, () -> engine.writes().put(0, key(name), key(name), 0));
  }

  /** One by one, so that they wait in this order. */
  private void startAndPark(List<Thread> followers) {
    for (int i = 0; i < followers.size(); i++) {
      followers.get(i).start();
      Parked.await(followers.subList(0, i + 1));
    }
  }

  /** Makes a group of the batch and the others, while a first write is held, and changes it. */
  private void run(Runnable change) throws InterruptedException {
    for (int i = 0; i < 40; i++) {
      batch.put(0, key(BATCH + i), new byte[1_000], 0);
    }
    engine.writes().put(0, key("first"), key("first"), 0);
    List<Thread> followers = new ArrayList<>();
    followers.add(putter(OTHERS.get(0)));
    followers.add(writer(BATCH, () -> engine.writes().write(batch, null)));
    followers.add(putter(OTHERS.get(1)));
    followers.add(putter(OTHERS.get(2)));
    storage.failAt(
        1,
        Fault.SYNC_FAILS,
        /* sticky= */ true,
        operation -> operation == Operation.SYNC && syncsFail.get());
    CountDownLatch ended = new CountDownLatch(1);
    AtomicBoolean first = new AtomicBoolean(true);
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) -> {
          if (isLogWrite(operation, name) && first.compareAndSet(true, false)) {
            startAndPark(followers);
            change.run();
          }
          return false;
        });
    Thread leader =
        writer(
            "0-leader",
            () -> {
              engine.writes().put(0, key("0-leader"), key("0-leader"), 0);
              ended.countDown();
            });
    leader.start();
    assertTrue(ended.await(60, TimeUnit.SECONDS), told::toString);
    leader.join(TimeUnit.SECONDS.toMillis(60));
    for (Thread follower : followers) {
      follower.join(TimeUnit.SECONDS.toMillis(60));
    }
    assertEquals(2 + OTHERS.size(), told.size(), "every writer was told something");
    assertEquals(DONE, told.get("0-leader"));
  }

  private static void check(StorageEngine store, boolean othersAreThere) {
    for (String name : OTHERS) {
      byte[] found = store.reads().get(0, key(name), StoreReads.LATEST);
      assertArrayEquals(othersAreThere ? key(name) : null, found);
    }
    for (int i = 0; i <= 40; i++) {
      assertNull(store.reads().get(0, key(BATCH + i), StoreReads.LATEST));
    }
  }

  private void checkOnlyTheBatchFailed(boolean closes) {
    for (String name : OTHERS) {
      assertEquals(DONE, told.get(name), name);
    }
    assertInstanceOf(IllegalStateException.class, told.get(BATCH));
    check(engine, true);
    engine.writes().put(0, key("later"), key("later"), 0);
    CrashableStorage left;
    if (closes) {
      engine.close();
      assertEquals(0, engine.memoryBytes());
      left = storage.crashSyncedOnly();
    } else {
      left = storage.crashKeepingAll();
      assertThrows(StoreFailedException.class, engine::close);
    }
    StorageEngine again = open(left);
    check(again, true);
    assertArrayEquals(key("later"), again.reads().get(0, key("later"), StoreReads.LATEST));
    again.close();
  }

  @Test
  void aBatchThatHasGrownFailsAlone() throws InterruptedException {
    run(() -> batch.put(0, key(BATCH + 40), new byte[1_000], 0));
    checkOnlyTheBatchFailed(/* closes= */ false);
  }

  @Test
  void aBatchThatWasClearedFailsAlone() throws InterruptedException {
    run(batch::clear);
    checkOnlyTheBatchFailed(/* closes= */ true);
  }

  /** The sync of the cut behind the failed group fails: no writer may go on. */
  @Test
  void aFailureOfTheStoreReachesAllWriters() throws InterruptedException {
    run(
        () -> {
          batch.clear();
          syncsFail.set(true);
        });
    for (String name : OTHERS) {
      assertInstanceOf(StoreFailedException.class, told.get(name), name);
    }
    assertInstanceOf(StoreFailedException.class, told.get(BATCH));
    check(engine, false);
    assertThrows(StoreFailedException.class, engine::close);
    assertEquals(0, engine.memoryBytes());
  }
}
