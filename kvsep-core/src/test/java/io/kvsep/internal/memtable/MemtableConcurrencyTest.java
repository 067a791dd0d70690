package io.kvsep.internal.memtable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Threads that insert in turns, with readers beside them. The work is bounded by the number of
 * entries: readers stop when the last inserter has.
 */
@org.junit.jupiter.api.Tag("compiled")
final class MemtableConcurrencyTest {
  private static final int INSERTERS = 3;
  private static final int READERS = 2;

  /** Who inserts what: the key of the n-th entry of a thread, asked for once. */
  private interface Keys {
    long key(int thread, int n);
  }

  @Test
  void interleavedKeys() {
    // Neighbours belong to different threads, which meet at the same nodes all the time.
    Seeds.run(
        getClass(),
        "interleavedKeys",
        1,
        4,
        seed -> new Run(seed, 6000, (thread, n) -> (long) n * INSERTERS + thread).go());
  }

  @Test
  void everyKeyAtTheEndOfTheList() {
    // The next number for the thread that comes first: all threads always link behind the same
    // node.
    Seeds.run(
        getClass(),
        "everyKeyAtTheEndOfTheList",
        1,
        4,
        seed -> {
          AtomicLong next = new AtomicLong();
          new Run(seed, 10_000, (thread, n) -> next.getAndIncrement()).go();
        });
  }

  @Test
  void everyKeyAtTheBeginningOfTheList() {
    Seeds.run(
        getClass(),
        "everyKeyAtTheBeginningOfTheList",
        1,
        4,
        seed -> {
          AtomicLong next = new AtomicLong();
          new Run(seed, 10_000, (thread, n) -> next.decrementAndGet()).go();
        });
  }

  @Test
  void disjointRanges() {
    Seeds.run(
        getClass(),
        "disjointRanges",
        1,
        2,
        seed -> new Run(seed, 6000, (thread, n) -> ((long) thread << 32) + n).go());
  }

  @Test
  void versionsOfTheSameFewKeys() {
    Seeds.run(
        getClass(),
        "versionsOfTheSameFewKeys",
        1,
        3,
        seed -> new Run(seed, 4000, (thread, n) -> n % 7).go());
  }

  @Test
  void keysInRandomOrder() {
    LongUnaryOperator mixed = n -> n * 0x9e3779b97f4a7c15L;
    Seeds.run(
        getClass(),
        "keysInRandomOrder",
        1,
        3,
        seed ->
            new Run(seed, 6000, (thread, n) -> mixed.applyAsLong((long) n * INSERTERS + thread))
                .go());
  }

  @Test
  void allSeeAFullArenaAndNothingIsLost() {
    // Half of the entries find no room: those that were taken are all there, the others are not.
    Seeds.run(
        getClass(),
        "allSeeAFullArenaAndNothingIsLost",
        1,
        3,
        seed -> {
          Run run = new Run(seed, 4000, (thread, n) -> (long) n * INSERTERS + thread);
          run.arenaBytes /= 2;
          run.mayBeFull = true;
          run.go();
        });
  }

  private static final class Run {
    final MemoryLedger ledger = new MemoryLedger();
    final long seed;
    final int count;
    final Keys keys;

    /** By thread; those below the thread's count of inserted entries may be read by all. */
    final long[][] usedKeys;

    final AtomicInteger[] inserted = new AtomicInteger[INSERTERS];
    final AtomicInteger inserting = new AtomicInteger(INSERTERS);
    final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
    final CyclicBarrier start = new CyclicBarrier(INSERTERS + READERS);
    final Object insertLock = new Object();
    long arenaBytes;
    boolean mayBeFull;

    Run(long seed, int count, Keys keys) {
      this.seed = seed;
      this.count = count;
      this.keys = keys;
      this.usedKeys = new long[INSERTERS][count];
      this.arenaBytes = 200L + (long) INSERTERS * count * (12 + 8 + 24 + 8 + 8 * 2 + 8);
      for (int i = 0; i < INSERTERS; i++) {
        inserted[i] = new AtomicInteger();
      }
    }

    void go() {
      Memtable memtable = new Memtable(ledger, arenaBytes, LogPosition.START, seed);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < INSERTERS; i++) {
        int thread = i;
        threads.add(new Thread(() -> guarded(() -> insertAll(memtable, thread))));
      }
      for (int i = 0; i < READERS; i++) {
        Random random = new Random(seed * 31 + i);
        threads.add(new Thread(() -> guarded(() -> readWhileInserting(memtable, random))));
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        join(thread);
      }
      for (Throwable failure : failures) {
        throw new AssertionError(failure);
      }
      int total = 0;
      for (AtomicInteger of : inserted) {
        total += of.get();
      }
      assertTrue(mayBeFull ? total < INSERTERS * count : total == INSERTERS * count);
      assertEquals(total, memtable.entryCount());
      assertEquals(total, walk(memtable));
      assertEquals(total, walkBack(memtable));
      Region scratch = ledger.allocate(MemoryPurpose.READ, 8);
      for (int thread = 0; thread < INSERTERS; thread++) {
        for (int n = 0; n < inserted[thread].get(); n++) {
          find(memtable, scratch, thread, n);
        }
      }
      scratch.free();
      memtable.free();
      assertEquals(0, ledger.totalBytes());
    }

    private void guarded(Runnable work) {
      try {
        start.await();
        work.run();
      } catch (Throwable e) {
        failures.add(e);
      }
    }

    private static void join(Thread thread) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    private static long tag(int thread, int n) {
      return Tag.of(1 + (long) n * INSERTERS + thread, Tag.PUT);
    }

    private void insertAll(Memtable memtable, int thread) {
      Region source = ledger.allocate(MemoryPurpose.READ, 8 + 24);
      Memtable.Splice splice = new Memtable.Splice();
      Entry entry = new Entry();
      try {
        for (int n = 0; n < count && failures.isEmpty(); n++) {
          long key = keys.key(thread, n);
          usedKeys[thread][n] = key;
          source.putLong(0, Long.reverseBytes(key));
          for (int i = 0; i < 3; i++) {
            source.putLong(8 + 8L * i, word(key, tag(thread, n), i));
          }
          entry.keyRegion = source;
          entry.keyLength = 8;
          entry.tag = tag(thread, n);
          entry.valueRegion = source;
          entry.valueOffset = 8;
          entry.valueLength = 24;
          boolean room;
          synchronized (insertLock) {
            room = memtable.insert(entry, splice);
          }
          if (!room) {
            assertTrue(mayBeFull);
            return;
          }
          inserted[thread].set(n + 1);
        }
      } finally {
        inserting.decrementAndGet();
        source.free();
      }
    }

    /** What the payload of an entry consists of, so that a torn or mixed-up one shows. */
    private static long word(long key, long tag, int index) {
      return (key ^ tag * 0xbf58476d1ce4e5b9L) * (2L * index + 3);
    }

    private void readWhileInserting(Memtable memtable, Random random) {
      Region scratch = ledger.allocate(MemoryPurpose.READ, 8);
      try {
        boolean last = false;
        while (!last && failures.isEmpty()) {
          last = inserting.get() == 0;
          int before = 0;
          for (AtomicInteger of : inserted) {
            before += of.get();
          }
          assertTrue(walk(memtable) >= before);
          for (int i = 0; i < 200; i++) {
            int thread = random.nextInt(INSERTERS);
            int there = inserted[thread].get();
            if (there > 0) {
              // The newest most often: it is the one whose links are still being made.
              int n = random.nextBoolean() ? there - 1 : random.nextInt(there);
              find(memtable, scratch, thread, n);
            }
          }
        }
      } finally {
        scratch.free();
      }
    }

    private void find(Memtable memtable, Region scratch, int thread, int n) {
      long key = usedKeys[thread][n];
      scratch.putLong(0, Long.reverseBytes(key));
      long tag = tag(thread, n);
      int node = memtable.find(scratch, 0, 8, KeyHash.of(scratch, 0, 8), tag);
      assertTrue(node != Nodes.NULL, () -> "entry " + n + " of thread " + thread + " is gone");
      Position found = new Position();
      memtable.read(node, found);
      assertEquals(tag, found.tag);
      checkPayload(memtable.arena(), found.payloadOffset, key, tag);
    }

    private static void checkPayload(Region region, long offset, long key, long tag) {
      for (int i = 0; i < 3; i++) {
        assertEquals(word(key, tag, i), region.getLong(offset + 8L * i));
      }
    }

    /** Every entry from the first to the last; each must come after the one before. */
    private int walk(Memtable memtable) {
      int seen = 0;
      long lastKey = 0;
      long lastTag = 0;
      try (InternalIterator iterator = memtable.iterator()) {
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          long key = Long.reverseBytes(iterator.keyRegion().getLong(iterator.keyOffset()));
          int order = seen == 0 ? -1 : Long.compareUnsigned(lastKey, key);
          assertTrue(order < 0 || (order == 0 && lastTag > iterator.tag()));
          assertEquals(24, iterator.payloadLength());
          checkPayload(iterator.payloadRegion(), iterator.payloadOffset(), key, iterator.tag());
          lastKey = key;
          lastTag = iterator.tag();
          seen++;
        }
      }
      return seen;
    }

    private static int walkBack(Memtable memtable) {
      int seen = 0;
      try (InternalIterator iterator = memtable.iterator()) {
        for (iterator.seekToLast(); iterator.isValid(); iterator.previous()) {
          seen++;
        }
      }
      return seen;
    }
  }
}
