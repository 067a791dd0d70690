package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TrackedKeyspaces;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Keyspaces that are made and dropped beside threads that write to them. */
@Tag("compiled")
final class KeyspaceConcurrencyTest {
  private static final int WRITERS = 3;

  private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();

  @Test
  void nothingComesBehindADropAndABatchIsRefusedWhole() {
    Seeds.each(KeyspaceConcurrencyTest.class, 4, random -> dropBesideWriters(random.nextLong()));
  }

  private void dropBesideWriters(long seed) {
    StorageEngine engine = open(new CrashableStorage(), seed);
    for (int round = 0; round < 40; round++) {
      int id = engine.keyspaces().open("round-" + round % 3);
      CyclicBarrier start = new CyclicBarrier(WRITERS + 1);
      AtomicInteger written = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      int wait = (int) Math.floorMod(seed >>> (round % 32), 60L);
      for (int i = 0; i < WRITERS; i++) {
        String writer = round + "-" + i;
        threads.add(started(start, () -> writeUntilRefused(engine, id, writer, written)));
      }
      threads.add(
          started(
              start,
              () -> {
                while (written.get() < wait) {
                  Thread.onSpinWait();
                }
                engine.keyspaces().drop(id);
                assertEquals("", TrackedKeyspaces.contents(engine, id));
              }));
      join(threads);
      assertEquals("", TrackedKeyspaces.contents(engine, id), "left in a dropped keyspace");
    }
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private static void writeUntilRefused(
      StorageEngine engine, int id, String writer, AtomicInteger written) {
    for (int n = 0; ; n++) {
      byte[] key = (writer + "-" + n).getBytes(UTF_8);
      BatchWrites batch = new BatchWrites();
      batch.put(0, key, new byte[10 + n % 200], 0);
      batch.put(id, key, new byte[100], 0);
      batch.deleteRange(id, new byte[] {1}, new byte[] {2});
      batch.put(0, new byte[] {1}, new byte[1], 0);
      try {
        engine.writes().write(batch, CommitSync.ON_DEMAND);
        written.incrementAndGet();
      } catch (IllegalStateException e) {
        assertNull(engine.reads().get(0, key, StoreReads.LATEST), "half of a refused batch");
        return;
      }
      assertNotNull(engine.reads().get(0, key, StoreReads.LATEST), "half of a batch is missing");
    }
  }

  @Test
  void makingDroppingWritingAndClosingAtOnceLeavesNothingWithoutAName() {
    Seeds.each(KeyspaceConcurrencyTest.class, 12, random -> closeBesideChanges(random.nextLong()));
  }

  private void closeBesideChanges(long seed) {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine = open(storage, seed);
    CyclicBarrier start = new CyclicBarrier(WRITERS + 1);
    AtomicInteger changes = new AtomicInteger();
    Set<Integer> made = new HashSet<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < WRITERS; i++) {
      Random random = new Random(seed + i);
      threads.add(
          started(
              start,
              () -> {
                try {
                  while (true) {
                    change(engine, random, made);
                    changes.incrementAndGet();
                  }
                } catch (StoreClosedException e) {
                  return;
                }
              }));
    }
    int most = 20 + (int) Math.floorMod(seed, 150L);
    threads.add(
        started(
            start,
            () -> {
              while (changes.get() < most && failures.isEmpty()) {
                Thread.onSpinWait();
              }
              engine.close();
            }));
    join(threads);
    assertEquals(0, engine.memoryBytes());

    StorageEngine again = open(storage.crashSyncedOnly(), seed);
    Set<Integer> named = new HashSet<>();
    again.keyspaces().names().forEach(name -> named.add(again.keyspaces().open(name)));
    int next = again.keyspaces().open("next");
    for (int id = 1; id < next; id++) {
      if (!named.contains(id)) {
        assertEquals("", TrackedKeyspaces.contents(again, id), "nameless keyspace " + id);
      }
    }
    for (int id : made) {
      assertTrue(id < next, "an id is used again");
    }
    again.close();
  }

  private static void change(StorageEngine engine, Random random, Set<Integer> made) {
    int id = engine.keyspaces().open("name-" + random.nextInt(4));
    synchronized (made) {
      made.add(id);
    }
    try {
      engine.writes().put(id, new byte[] {(byte) random.nextInt(9)}, new byte[300], 0);
      if (random.nextInt(3) == 0) {
        engine.keyspaces().drop(id);
        assertEquals("", TrackedKeyspaces.contents(engine, id));
      }
    } catch (StoreClosedException e) {
      throw e;
    } catch (IllegalStateException e) {
      // Another thread has dropped it.
      return;
    }
  }

  @Test
  void aKeyspaceIsNeverFoundAgainOnceAWriteToItWasRefused() {
    StorageEngine engine = open(new CrashableStorage(), 1);
    for (int round = 0; round < 60; round++) {
      int id = engine.keyspaces().open("name");
      CyclicBarrier start = new CyclicBarrier(2);
      AtomicBoolean refused = new AtomicBoolean();
      Thread writer =
          started(
              start,
              () -> {
                try {
                  while (true) {
                    engine.writes().put(id, new byte[] {1}, new byte[1], 0);
                  }
                } catch (IllegalStateException e) {
                  refused.set(true);
                  assertTrue(engine.keyspaces().open("name") != id, "found what was dropped");
                }
              });
      Thread dropper = started(start, () -> engine.keyspaces().drop(id));
      join(List.of(writer, dropper));
      assertTrue(refused.get());
    }
    engine.close();
  }

  private Thread started(CyclicBarrier start, Runnable work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                start.await();
                work.run();
              } catch (Throwable e) {
                failures.add(e);
              }
            });
    thread.start();
    return thread;
  }

  private void join(List<Thread> threads) {
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    for (Throwable failure : failures) {
      throw new AssertionError(failure);
    }
  }

  private static StorageEngine open(CrashableStorage storage, long seed) {
    return StorageEngine.open(
        Engines.config(
            storage,
            CommitSync.ON_DEMAND,
            new ManualClock(1_000),
            new Random(seed),
            new ThreadScheduler(1)));
  }
}
