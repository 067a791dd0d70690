package io.kvsep.internal.background;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingScheduler;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** A store that is compacted as a whole while another thread writes to it. */
final class FullCompactionTest {
  private static final int ENTRIES = 10_000;

  /** Far apart, so that the tables they are written to overlap each other and all below. */
  private static final int STEP = 1_000;

  /** Keys of the random test: so many runs, with gaps between them as long as a run. */
  private static final int RUNS = 40;

  private static final int RUN = 250;

  /** A store in which jobs of a full compaction are interrupted by writers. */
  private static final class Store implements AutoCloseable {
    final CrashableStorage storage = new CrashableStorage();
    final ManualScheduler scheduler;
    final InterruptedClock clock = new InterruptedClock();
    final StorageEngine engine;
    final Map<Integer, byte[]> model = new TreeMap<>();

    Store(long seed, int compactionsMax) {
      scheduler = new ManualScheduler(seed, compactionsMax);
      engine =
          StorageEngine.open(
              Engines.config(
                  storage,
                  CommitSync.ON_DEMAND,
                  clock,
                  new Random(seed),
                  new UninterruptedFlushes(scheduler, clock)));
    }

    void put(int i, byte[] value) {
      engine.writes().put(0, key(i), value, 0);
      model.put(i, value);
    }

    void delete(int i) {
      engine.writes().delete(0, key(i));
      model.remove(i);
    }

    void deleteRange(int from, int to) {
      engine.writes().deleteRange(0, key(from), key(to));
      for (int i = from; i < to; i++) {
        model.remove(i);
      }
    }

    void flushAndCompact() {
      engine.flush();
      scheduler.runAll();
    }

    /** What interrupts comes in the middle of compactions, and not of a flush. */
    void compact(Runnable interruption) {
      engine.flush();
      clock.interruption = interruption;
      try {
        engine.compact();
      } finally {
        clock.interruption = () -> {};
      }
    }

    /** Whether a few more tables in level 0 hold no writer up. */
    boolean hasRoom() {
      return Engines.levelTables(engine.stats())[0] < Engines.TINY.levelZero().slowdownTables();
    }

    void check(int keys) {
      for (int i = 0; i < keys; i++) {
        assertArrayEquals(model.get(i), engine.reads().get(0, key(i), StoreReads.LATEST));
      }
    }

    @Override
    public void close() {
      engine.close();
      assertEquals(0, engine.memoryBytes());
      assertEquals(List.of(), storage.openFiles());
    }
  }

  @Test
  void levelZeroIsCompactedBesideAJobThatTakesLong() {
    try (Store store = twoTablesAboveALongLevel()) {
      Random random = new Random(5);
      boolean interrupted =
          compactInterrupted(
              store,
              () -> {
                for (int round = 0; round < 8; round++) {
                  // They overlap what goes down.
                  for (int i = 0; i < ENTRIES; i += STEP) {
                    store.put(i, value(random));
                  }
                  store.flushAndCompact();
                  assertTrue(
                      store.hasRoom(), Arrays.toString(Engines.levelTables(store.engine.stats())));
                }
              });
      assertTrue(interrupted);
      store.check(4 * ENTRIES + RUN);
      store.engine.compact();
      assertOneLevel(store);
    }
  }

  @Test
  void whatGoesDownBesideIsNotPutWhereTheJobWrites() {
    try (Store store = twoTablesAboveALongLevel()) {
      Random random = new Random(6);
      boolean interrupted =
          compactInterrupted(
              store,
              () -> {
                // Between the two: enough to be pushed down as far as it goes.
                for (int i = 2 * ENTRIES; i < 3 * ENTRIES; i++) {
                  store.put(i, value(random));
                  store.scheduler.runAll();
                }
              });
      assertTrue(interrupted);
      store.check(4 * ENTRIES + RUN);
    }
  }

  @Test
  void levelZeroIsCompactedBesideManyJobs() {
    try (Store store = new Store(8, 1)) {
      Random random = new Random(9);
      for (int i = 0; i < ENTRIES; i++) {
        store.put(i, value(random));
        if (i % 10 == 0) {
          // In every table.
          store.engine.writes().put(0, key(ENTRIES + i), value(random), 50_000);
          store.engine.writes().put(0, key(i), value(random), 50_000);
          store.model.remove(i);
        }
      }
      store.engine.compact();
      store.clock.advance(100_000);
      int[] looks = new int[1];
      int[] rounds = new int[1];
      store.compact(
          () -> {
            // In the rewrites, which ask for the time, and between them.
            boolean late = ++looks[0] > 10;
            // Where level 0 is not compacted, it has room for a few tables only.
            if (late && rounds[0] < 40 && store.hasRoom()) {
              rounds[0]++;
              for (int i = 5; i < ENTRIES; i += STEP) {
                store.put(i, value(random));
              }
              store.flushAndCompact();
            }
          });
      assertTrue(rounds[0] > 20, "level 0 was compacted too seldom for " + rounds[0] + " rounds");
      store.check(2 * ENTRIES);
    }
  }

  /** Two tables far from each other, which nothing has merged, and below them all the others. */
  private static Store twoTablesAboveALongLevel() {
    Store store = new Store(4, 2);
    Random random = new Random(7);
    // So many that a table in the last level comes to hold keys of both when they are merged.
    int entries = ENTRIES - 50;
    putRun(store, random, 0, entries);
    store.engine.compact();
    for (int i = 0; i < entries; i += ENTRIES / 80) {
      store.put(i, value(random));
    }
    store.flushAndCompact();
    for (int i = 0; i < 2; i++) {
      putRun(store, random, 4 * ENTRIES, 4 * ENTRIES + 40);
      store.flushAndCompact();
    }
    return store;
  }

  /** Runs something in the middle of the job that merges the two tables; whether it did. */
  private static boolean compactInterrupted(Store store, Runnable interruption) {
    int[] looks = new int[1];
    store.compact(
        () -> {
          int[] tables = Engines.levelTables(store.engine.stats());
          // The clock is asked twice before the job is at work, and then in it.
          if (tables[4] == 2 && tables[5] == 0 && ++looks[0] == 3) {
            interruption.run();
          }
        });
    return looks[0] >= 3;
  }

  private static void putRun(Store store, Random random, int from, int to) {
    for (int i = from; i < to; i++) {
      store.put(i, value(random));
    }
  }

  @Test
  void whatIsWrittenBesideFindsItsPlace() {
    Seeds.some(FullCompactionTest.class, 24, 2, FullCompactionTest::writeBeside);
  }

  private static void writeBeside(Random random) {
    try (Store store = new Store(random.nextLong(), 1 + random.nextInt(2))) {
      int runs = 1 + random.nextInt(RUNS);
      for (int i = random.nextInt(200); i >= 0; i--) {
        write(store, random, runs);
      }
      for (int i = 0; i < 3; i++) {
        store.compact(
            () -> {
              // Nothing would end the wait for a job that this has interrupted.
              for (int j = random.nextInt(40); j >= 0 && store.hasRoom(); j--) {
                write(store, random, RUNS);
              }
              // Or a flush might run while the compaction waits, and be interrupted itself.
              store.engine.flush();
            });
        store.check(2 * RUNS * RUN);
      }
      store.engine.compact();
      store.check(2 * RUNS * RUN);
      assertOneLevel(store);
    }
  }

  /** A part of a run, sometimes of a gap, and now and then a range that is deleted. */
  private static void write(Store store, Random random, int runs) {
    int first = 2 * RUN * random.nextInt(runs) + (random.nextInt(8) == 0 ? RUN : 0);
    if (random.nextInt(12) == 0) {
      store.deleteRange(first, first + 1 + random.nextInt(2 * RUN - 1));
    } else {
      boolean deletes = random.nextInt(3) == 0;
      for (int i = random.nextInt(RUN); i >= 0; i--) {
        if (deletes && random.nextBoolean()) {
          store.delete(first + i);
        } else {
          store.put(first + i, value(random));
        }
      }
    }
    if (random.nextInt(4) == 0) {
      store.flushAndCompact();
    }
  }

  private static void assertOneLevel(Store store) {
    long[] bytes = Engines.levelBytes(store.engine.stats());
    for (int level = 0; level < bytes.length - 1; level++) {
      assertEquals(0, bytes[level]);
    }
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static byte[] value(Random random) {
    byte[] value = new byte[48];
    random.nextBytes(value);
    return value;
  }

  /** A writer that interrupts a flush may wait for it, and nothing would end that. */
  private static final class UninterruptedFlushes extends ForwardingScheduler {
    private final InterruptedClock clock;

    UninterruptedFlushes(Scheduler scheduler, InterruptedClock clock) {
      super(scheduler);
      this.clock = clock;
    }

    @Override
    public void execute(Lane lane, Runnable task) {
      super.execute(lane, lane == Lane.FLUSH ? () -> clock.runUninterrupted(task) : task);
    }
  }

  /** Stands still. Asked for the time, as each job does before it reads anything, it lets write. */
  private static final class InterruptedClock extends ManualClock {
    Runnable interruption = () -> {};
    private boolean interrupted;

    InterruptedClock() {
      super(1_000);
    }

    void runUninterrupted(Runnable task) {
      boolean before = interrupted;
      interrupted = true;
      try {
        task.run();
      } finally {
        interrupted = before;
      }
    }

    @Override
    public long millis() {
      if (!interrupted) {
        interrupted = true;
        try {
          interruption.run();
        } finally {
          interrupted = false;
        }
      }
      return super.millis();
    }
  }
}
