package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Everything at once, with limits so tiny that memtables, tables and segments come and go all the
 * time: no increment is lost, no batch is seen in part, nothing goes back in time, snapshots and
 * cursors see one moment, and closing in the middle gives each thread one error only.
 */
@Tag("compiled")
final class ConcurrencyTest {
  private static final int COUNTERS = 3;
  private static final int INCREMENTS = 120;
  private static final int THREADS = 4;
  private static final int PAIRS = 8;
  private static final int WRITER_KEYS = 5;

  @TempDir Path directory;

  /** One thread's work; what it throws ends the test. */
  private interface Work {
    void run(Random random) throws InterruptedException;
  }

  @Test
  void countersAddUpInMemory() {
    seeds("countersAddUpInMemory", 4, seed -> countersAddUp(new CrashableStorage(), seed));
  }

  @Test
  void countersAddUpOnFiles() {
    seeds("countersAddUpOnFiles", 1, seed -> countersAddUp(files(seed), seed));
  }

  @Test
  void allReadersSeeWholeCommitsInOrder() {
    seeds(
        "allReadersSeeWholeCommitsInOrder", 4, seed -> wholeCommits(new CrashableStorage(), seed));
  }

  @Test
  void allReadersSeeWholeCommitsInOrderOnFiles() {
    seeds("allReadersSeeWholeCommitsInOrderOnFiles", 1, seed -> wholeCommits(files(seed), seed));
  }

  @Test
  void closingInTheMiddleGivesOneErrorAndKeepsWhatWasSynced() {
    seeds(
        "closingInTheMiddleGivesOneErrorAndKeepsWhatWasSynced",
        20,
        ConcurrencyTest::closeInTheMiddle);
  }

  /** N threads times M compare-and-set increments of each counter make N times M. */
  private static void countersAddUp(Storage storage, long seed) {
    StorageEngine engine = open(storage, seed);
    List<Work> works = new ArrayList<>();
    CountDownLatch incrementing = new CountDownLatch(THREADS);
    for (int t = 0; t < THREADS; t++) {
      works.add(
          random -> {
            for (int i = 0; i < COUNTERS * INCREMENTS; i++) {
              increment(engine, counterKey(i % COUNTERS));
            }
            incrementing.countDown();
          });
    }
    works.add(
        random -> {
          while (incrementing.getCount() > 0) {
            engine.writes().put(0, TrackedEngine.key(random.nextInt(50)), new byte[400], 0);
            if (random.nextInt(10) == 0) {
              engine.flush();
            }
          }
        });
    runAll(works, seed);
    for (int counter = 0; counter < COUNTERS; counter++) {
      byte[] found = engine.reads().get(0, counterKey(counter), StoreReads.LATEST);
      assertEquals(THREADS * INCREMENTS, ByteBuffer.wrap(found).getLong());
    }
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private static void increment(StorageEngine engine, byte[] key) {
    while (true) {
      byte[] expected = engine.reads().get(0, key, StoreReads.LATEST);
      long count = expected == null ? 0 : ByteBuffer.wrap(expected).getLong();
      byte[] next = ByteBuffer.allocate(8 + (int) (count % 200)).putLong(count + 1).array();
      if (engine.writes().compareAndSet(0, key, expected, next)) {
        return;
      }
    }
  }

  /**
   * Each writer writes a number of its own that only grows, under several keys in one batch. Who
   * reads sees one number under all of them, and never a lower one than before.
   */
  private static void wholeCommits(Storage storage, long seed) {
    StorageEngine engine = open(storage, seed);
    AtomicLongArray acknowledged = new AtomicLongArray(2);
    CountDownLatch writing = new CountDownLatch(2);
    List<Work> works = new ArrayList<>();
    for (int w = 0; w < 2; w++) {
      int writer = w;
      works.add(
          random -> {
            for (long number = 1; number <= 400; number++) {
              engine.writes().write(batch(writer, number, random), null);
              acknowledged.set(writer, number);
            }
            writing.countDown();
          });
    }
    works.add(random -> whileWriting(writing, () -> readPairs(engine, acknowledged, random)));
    works.add(random -> whileWriting(writing, () -> readSnapshot(engine, acknowledged, random)));
    works.add(random -> whileWriting(writing, () -> scan(engine, acknowledged, random)));
    works.add(
        random ->
            whileWriting(
                writing,
                () -> {
                  if (random.nextInt(6) == 0) {
                    engine.compact();
                  } else {
                    engine.flush();
                  }
                }));
    runAll(works, seed);
    for (int writer = 0; writer < 2; writer++) {
      assertEquals(400, numberOf(engine, writer, StoreReads.LATEST));
    }
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private static void closeInTheMiddle(long seed) {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine = open(storage, seed);
    AtomicLongArray acknowledged = new AtomicLongArray(2);
    CountDownLatch started = new CountDownLatch(5);
    List<Throwable> ends = Collections.synchronizedList(new ArrayList<>());
    List<Work> works = new ArrayList<>();
    for (int w = 0; w < 2; w++) {
      int writer = w;
      long[] number = new long[1];
      works.add(
          random ->
              untilClosed(
                  started,
                  ends,
                  () -> {
                    engine.writes().write(batch(writer, ++number[0], random), null);
                    acknowledged.set(writer, number[0]);
                  }));
    }
    works.add(random -> untilClosed(started, ends, () -> scan(engine, acknowledged, random)));
    works.add(
        random -> untilClosed(started, ends, () -> readSnapshot(engine, acknowledged, random)));
    works.add(random -> untilClosed(started, ends, engine::flush));
    works.add(
        random -> {
          started.await();
          for (int i = random.nextInt(2_000); i > 0; i--) {
            Thread.onSpinWait();
          }
          engine.close();
        });
    runAll(works, seed);
    assertEquals(5, ends.size());
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    StorageEngine again = open(storage.crashSyncedOnly(), seed);
    for (int writer = 0; writer < 2; writer++) {
      // A write that was under way when the store closed may be there, too.
      long found = numberOf(again, writer, StoreReads.LATEST);
      long least = acknowledged.get(writer);
      assertTrue(found == least || found == least + 1, found + " after " + least);
    }
    again.close();
  }

  private static void untilClosed(CountDownLatch started, List<Throwable> ends, Runnable call) {
    try {
      call.run();
      started.countDown();
      while (true) {
        call.run();
      }
    } catch (StoreClosedException e) {
      ends.add(e);
    } finally {
      started.countDown();
    }
  }

  private static void whileWriting(CountDownLatch writing, Runnable call) {
    do {
      call.run();
    } while (writing.getCount() > 0);
  }

  private static BatchWrites batch(int writer, long number, Random random) {
    BatchWrites batch = new BatchWrites();
    for (int i = 0; i < WRITER_KEYS; i++) {
      batch.put(0, pairKey(writer, i), pairValue(number, i), 0);
    }
    batch.put(0, TrackedEngine.key(random.nextInt(PAIRS)), new byte[random.nextInt(600)], 0);
    return batch;
  }

  /** One key after the other, so numbers may grow on the way, but nothing may be older. */
  private static void readPairs(StorageEngine engine, AtomicLongArray acknowledged, Random random) {
    int writer = random.nextInt(2);
    long least = acknowledged.get(writer);
    for (int i = 0; i < WRITER_KEYS; i++) {
      byte[] found = engine.reads().get(0, pairKey(writer, i), StoreReads.LATEST);
      long number = found == null ? 0 : number(found, i);
      assertTrue(number >= least, () -> "read " + number + " after " + acknowledged.get(writer));
      least = number;
    }
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i < WRITER_KEYS; i++) {
      keys.add(pairKey(writer, i));
    }
    List<byte @Nullable []> all = engine.reads().getAll(0, keys, StoreReads.LATEST);
    for (int i = 0; i < WRITER_KEYS; i++) {
      assertEquals(numberIn(all, 0), numberIn(all, i), "two moments in one getAll");
    }
  }

  private static long numberIn(List<byte @Nullable []> values, int index) {
    byte[] value = values.get(index);
    return value == null ? 0 : number(value, index);
  }

  private static void readSnapshot(
      StorageEngine engine, AtomicLongArray acknowledged, Random random) {
    int writer = random.nextInt(2);
    long least = acknowledged.get(writer);
    SnapshotLease hold = engine.reads().acquireSnapshot();
    try {
      long first = numberOf(engine, writer, hold);
      assertTrue(first >= least, "a snapshot older than what was acknowledged");
      for (int i = 0; i < 3; i++) {
        assertEquals(first, numberOf(engine, writer, hold), "a snapshot that moved");
        Thread.onSpinWait();
      }
    } finally {
      engine.reads().releaseSnapshot(hold);
    }
  }

  private static void scan(StorageEngine engine, AtomicLongArray acknowledged, Random random) {
    int writer = random.nextInt(2);
    long least = acknowledged.get(writer);
    byte[] from = ("pair-" + writer).getBytes(UTF_8);
    byte[] to = ("pair-" + writer + "~").getBytes(UTF_8);
    boolean reverse = random.nextBoolean();
    ScanBounds bounds = new ScanBounds(0, from, to, reverse, false, Long.MAX_VALUE);
    try (SnapshotCursor cursor = engine.reads().cursor(bounds, StoreReads.LATEST)) {
      long number = -1;
      int count = 0;
      while (cursor.next()) {
        int index = reverse ? WRITER_KEYS - 1 - count : count;
        assertArrayEquals(pairKey(writer, index), cursor.key());
        long found = number(cursor.value(), index);
        assertTrue(number < 0 || number == found, "half a batch in a scan");
        number = found;
        count++;
      }
      assertTrue(count == WRITER_KEYS || (count == 0 && least == 0), "entries of a scan");
      assertTrue(number >= least || least == 0, "a cursor older than what was acknowledged");
    }
  }

  /** The number under all keys of the writer as of that moment. */
  private static long numberOf(StorageEngine engine, int writer, SnapshotLease hold) {
    long number = -1;
    for (int i = 0; i < WRITER_KEYS; i++) {
      byte[] found = engine.reads().get(0, pairKey(writer, i), hold);
      long here = found == null ? 0 : number(found, i);
      assertTrue(number < 0 || number == here, "half a batch");
      number = here;
    }
    return number;
  }

  private static byte[] pairKey(int writer, int index) {
    return ("pair-" + writer + "-" + index).getBytes(UTF_8);
  }

  /** The number, and filling that says whether the value is whole. */
  private static byte[] pairValue(long number, int index) {
    byte[] value = new byte[8 + (int) ((number * 31 + index * 57L) % 300)];
    new Random(number * 10L + index).nextBytes(value);
    ByteBuffer.wrap(value).putLong(number);
    return value;
  }

  private static long number(byte[] value, int index) {
    long number = ByteBuffer.wrap(value).getLong();
    assertArrayEquals(pairValue(number, index), value);
    return number;
  }

  private static byte[] counterKey(int counter) {
    return ("counter-" + counter).getBytes(UTF_8);
  }

  private Storage files(long seed) {
    try {
      return new FileStorage(directory.resolve("store-" + seed), true);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static StorageEngine open(Storage storage, long seed) {
    return StorageEngine.open(
        Engines.config(
            storage,
            CommitSync.ON_DEMAND,
            new ManualClock(1_000),
            new Random(seed),
            new ThreadScheduler(3)));
  }

  private static void seeds(String method, int count, LongConsumer test) {
    int asked = Integer.getInteger("kvsep.seeds", count);
    Seeds.run(ConcurrencyTest.class, method, 1, asked, test);
  }

  /** Runs each work on a thread of its own; the first error of any of them is thrown. */
  private static void runAll(List<Work> works, long seed) {
    List<Throwable> errors = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < works.size(); i++) {
      Work work = works.get(i);
      Random random = new Random(seed * 100 + i);
      Thread thread =
          new Thread(
              () -> {
                try {
                  work.run(random);
                } catch (Throwable e) {
                  errors.add(e);
                }
              });
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
    for (Thread thread : threads) {
      while (thread.isAlive() && errors.isEmpty() && System.nanoTime() < deadline) {
        try {
          thread.join(50);
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      assertTrue(!errors.isEmpty() || !thread.isAlive(), "a thread hangs: " + thread);
    }
    if (!errors.isEmpty()) {
      Throwable first = errors.get(0);
      throw new AssertionError(errors.size() + " threads failed, first " + first, first);
    }
  }
}
