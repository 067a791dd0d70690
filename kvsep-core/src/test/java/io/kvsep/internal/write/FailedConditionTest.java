package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Parked;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A condition that cannot be checked is the matter of its own write alone. */
final class FailedConditionTest {
  private static final int VALUE_BYTES = 5_000;
  private static final int VALUES = 20;
  private static final int FOLLOWERS = 3;

  /** Throws what no method declares where it is asked what is in memory, as the JDK may. */
  private static final class Refusing extends ForwardingStorage {
    volatile boolean refuses;

    Refusing(Storage storage) {
      super(storage);
    }

    @Override
    public boolean load(ByteBuffer mapped) {
      if (refuses) {
        throw FailedConditionTest.<RuntimeException>undeclared(
            new IOException("Operation not permitted"));
      }
      return super.load(mapped);
    }
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Exception> E undeclared(Exception thrown) throws E {
    throw (E) thrown;
  }

  @Test
  void writesBehindItAreCommittedAndTheStoreGoesOn() throws InterruptedException {
    CrashableStorage files = new CrashableStorage();
    Refusing storage = new Refusing(files);
    StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1));
    for (int i = 0; i < VALUES; i++) {
      engine.writes().put(0, key(i), longValue(i), 0);
    }
    storage.refuses = true;
    AtomicReference<Throwable> refusal = new AtomicReference<>();
    Thread conditional =
        new Thread(
            () -> {
              try {
                engine.writes().compareAndSet(0, key(0), longValue(0), new byte[1]);
              } catch (Throwable e) {
                refusal.set(e);
              }
            });
    Map<Integer, Boolean> puts = new ConcurrentHashMap<>();
    List<Thread> followers = new ArrayList<>();
    for (int i = 0; i < FOLLOWERS; i++) {
      int number = VALUES + i;
      followers.add(new Thread(() -> puts.put(number, put(engine, number))));
    }
    runBehindAWrite(files, engine, conditional, followers);
    assertInstanceOf(IOException.class, cause(refusal.get()));
    assertEquals(FOLLOWERS, puts.size());
    assertTrue(puts.values().stream().allMatch(put -> put), puts::toString);
    storage.refuses = false;
    for (int i = 0; i < FOLLOWERS; i++) {
      assertArrayEquals(
          new byte[1], engine.reads().get(0, key(VALUES + i), StoreReads.LATEST), "follower " + i);
    }
    assertTrue(put(engine, VALUES + FOLLOWERS));
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  /** The conditional write leads the next group; the others are its rest. */
  private static void runBehindAWrite(
      CrashableStorage files, StorageEngine engine, Thread conditional, List<Thread> followers)
      throws InterruptedException {
    List<Thread> behind = new ArrayList<>(followers);
    behind.add(conditional);
    CountDownLatch held = new CountDownLatch(1);
    AtomicBoolean first = new AtomicBoolean(true);
    files.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) -> {
          boolean logWrite =
              operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
          if (logWrite && first.compareAndSet(true, false)) {
            held.countDown();
            Parked.await(behind);
          }
          return false;
        });
    Thread leader = new Thread(() -> put(engine, VALUES - 1));
    leader.start();
    held.await();
    conditional.start();
    Parked.await(List.of(conditional));
    followers.forEach(Thread::start);
    leader.join(TimeUnit.SECONDS.toMillis(60));
    for (Thread thread : behind) {
      thread.join(TimeUnit.SECONDS.toMillis(60));
    }
    files.clearFaults();
  }

  private static Throwable cause(@Nullable Throwable refusal) {
    Throwable cause = assertInstanceOf(StorageException.class, refusal).getCause();
    assertNotNull(cause);
    return cause;
  }

  private static boolean put(StorageEngine engine, int i) {
    try {
      engine.writes().put(0, key(i), new byte[1], 0);
      return true;
    } catch (StorageException e) {
      return false;
    }
  }

  /** Such as fill segments: they do not compress. */
  private static byte[] longValue(int i) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(i).nextBytes(value);
    return value;
  }

  private static byte[] key(int i) {
    return ("key-" + i).getBytes(UTF_8);
  }
}
