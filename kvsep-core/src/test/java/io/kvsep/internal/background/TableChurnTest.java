package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Stores that keep next to no table open: every lookup opens one that is closed again at once, and
 * so does every step of a cursor from one table to the next. Only the counters show that.
 */
@Tag("compiled")
final class TableChurnTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  /** What it takes to keep one table open. */
  private static final long ONE_READER_BYTES = 1024;

  @TempDir Path directory;

  @Test
  void everyStepSeesWhatASortedMapDoes() {
    Seeds.each(getClass(), 30, TableChurnTest::steps);
  }

  private static void steps(Random random) {
    int readers = random.nextInt(4);
    ManualScheduler scheduler = new ManualScheduler(random.nextLong(), 2);
    StorageEngine engine = open(new CrashableStorage(), random, scheduler, readers);
    NavigableMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    fill(engine, random, model, 400);
    for (int round = 0; round < 4; round++) {
      NavigableMap<byte[], byte[]> moment = new TreeMap<>(model);
      SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
      // The cursor keeps its moment while the tables it is in are merged away and closed.
      fill(engine, random, model, 60);
      if (random.nextBoolean()) {
        engine.compact();
      }
      walk(cursor, moment, random);
      for (int i = 0; i < 50; i++) {
        byte[] key = key(random.nextInt(250));
        assertArrayEquals(model.get(key), engine.reads().get(0, key, StoreReads.LATEST));
      }
      if (random.nextInt(4) > 0) {
        cursor.close();
      }
      scheduler.runAll();
      scheduler.tick();
    }
    assertTrue(engine.stats().cacheMisses() > 0);
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  /** Random moves; key and value are asked for after all of them. */
  private static void walk(
      SnapshotCursor cursor, NavigableMap<byte[], byte[]> moment, Random random) {
    Map.@Nullable Entry<byte[], byte[]> expected = null;
    for (int i = 0; i < 300; i++) {
      byte[] target = key(random.nextInt(260));
      int move = random.nextInt(30);
      boolean found;
      if (expected == null || move == 0) {
        found = move % 2 == 0 ? cursor.seek(target) : cursor.seekFloor(target);
        expected = move % 2 == 0 ? moment.ceilingEntry(target) : moment.floorEntry(target);
      } else if (move < 12) {
        found = cursor.next();
        expected = moment.higherEntry(expected.getKey());
      } else {
        found = cursor.previous();
        expected = moment.lowerEntry(expected.getKey());
      }
      assertEquals(expected != null, found);
      if (expected != null) {
        assertArrayEquals(expected.getKey(), cursor.key());
        assertArrayEquals(expected.getValue(), cursor.value());
      }
    }
  }

  @Test
  void aValueIsReadableAfterTheStepBackOutOfItsTable() {
    StorageEngine engine =
        open(new CrashableStorage(), new Random(1), new ManualScheduler(1, 2), 0);
    for (int i = 0; i < 200; i++) {
      engine.writes().put(0, key(i), incompressible(i), 0);
    }
    engine.compact();
    assertTrue(Arrays.stream(Engines.levelTables(engine.stats())).sum() > 1);
    SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
    for (int i = 199; i >= 0; i--) {
      assertTrue(cursor.previous());
      assertArrayEquals(key(i), cursor.key());
      assertArrayEquals(incompressible(i), cursor.value());
    }
    cursor.close();
    engine.close();
  }

  @Test
  void aValueIsReadableAfterStepsBackOutOfItsPackedBlock() {
    StorageEngine engine =
        open(new CrashableStorage(), new Random(1), new ManualScheduler(1, 2), 1);
    List<SnapshotLease> snapshots = new ArrayList<>();
    // Versions that a snapshot needs, and so many that they fill several blocks of one table.
    for (int version = 0; version < 80; version++) {
      engine.writes().put(0, key(1), value(version), 0);
      snapshots.add(engine.reads().acquireSnapshot());
    }
    engine.compact();
    for (int version = 0; version < 80; version++) {
      SnapshotCursor cursor = engine.reads().cursor(ALL, snapshots.get(version));
      assertTrue(cursor.previous());
      assertArrayEquals(value(version), cursor.value());
      cursor.close();
      assertArrayEquals(value(version), engine.reads().get(0, key(1), snapshots.get(version)));
    }
    snapshots.forEach(engine.reads()::releaseSnapshot);
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  /** Values whose blocks are left as they are, so that they are read in the mapping. */
  private static byte[] incompressible(int seed) {
    byte[] value = new byte[60];
    new Random(seed).nextBytes(value);
    return value;
  }

  private static byte[] value(int version) {
    return String.format(Locale.ROOT, "%03d,", version).repeat(14).getBytes(UTF_8);
  }

  @Test
  void threadsOpenAndCloseTheSameTables() {
    Seeds.run(
        getClass(), "threadsOpenAndCloseTheSameTables", 1, 6, seed -> threads(seed, storage(seed)));
  }

  private void threads(long seed, Storage storage) {
    // Mappings that others left to the collector are not to go meanwhile; if some do, no matter.
    System.gc();
    long mappedBefore = mapped();
    StorageEngine engine =
        open(storage, new Random(seed), new ThreadScheduler(2), (int) (seed % 3));
    NavigableMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    fill(engine, new Random(seed), model, 400);
    engine.compact();
    List<Throwable> problems = new ArrayList<>();
    AtomicBoolean closing = new AtomicBoolean();
    CountDownLatch started = new CountDownLatch(4);
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      Random random = new Random(31 * seed + t);
      boolean scans = t % 2 == 0;
      threads.add(
          new Thread(
              () -> {
                try {
                  for (int i = 0; i < 40; i++) {
                    if (scans) {
                      readAll(engine, model, random.nextBoolean());
                    } else {
                      readSome(engine, model, random);
                    }
                    started.countDown();
                  }
                } catch (StoreClosedException e) {
                  addUnless(closing.get(), problems, e);
                } catch (RuntimeException | Error e) {
                  addUnless(false, problems, e);
                } finally {
                  started.countDown();
                }
              }));
    }
    // Rewrites every table while they are read, and ends the store in the middle of it all.
    threads.add(
        new Thread(
            () -> {
              try {
                started.await();
                for (int i = 0; i < 3; i++) {
                  model.forEach((key, value) -> engine.writes().put(0, key, value, 0));
                  engine.compact();
                }
                closing.set(true);
                engine.close();
              } catch (RuntimeException | Error | InterruptedException e) {
                addUnless(false, problems, e);
              }
            }));
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      join(thread);
    }
    assertEquals(List.of(), problems);
    assertEquals(0, engine.memoryBytes());
    long mapped = mapped();
    assertTrue(mapped <= mappedBefore, () -> "mappings: " + mappedBefore + ", now " + mapped);
  }

  private static void readAll(
      StorageEngine engine, NavigableMap<byte[], byte[]> model, boolean backward) {
    NavigableMap<byte[], byte[]> expected = backward ? model.descendingMap() : model;
    SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
    for (Map.Entry<byte[], byte[]> entry : expected.entrySet()) {
      assertTrue(backward ? cursor.previous() : cursor.next());
      assertArrayEquals(entry.getKey(), cursor.key());
      assertArrayEquals(entry.getValue(), cursor.value());
    }
    cursor.close();
  }

  private static void readSome(
      StorageEngine engine, NavigableMap<byte[], byte[]> model, Random random) {
    for (int i = 0; i < 100; i++) {
      byte[] key = key(random.nextInt(260));
      byte @Nullable [] expected = model.get(key);
      byte @Nullable [] found = engine.reads().get(0, key, StoreReads.LATEST);
      if (expected == null) {
        assertNull(found);
      } else {
        assertArrayEquals(expected, found);
      }
    }
  }

  private static synchronized void addUnless(
      boolean expected, List<Throwable> problems, Throwable problem) {
    if (!expected) {
      problems.add(problem);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Puts, overwrites and deletions; some of them flushed, some merged. */
  private static void fill(
      StorageEngine engine, Random random, NavigableMap<byte[], byte[]> model, int count) {
    for (int i = 0; i < count; i++) {
      byte[] key = key(random.nextInt(250));
      if (random.nextInt(5) == 0) {
        engine.writes().delete(0, key);
        model.remove(key);
      } else {
        byte[] value = new byte[random.nextInt(100)];
        // Short enough to live beside the key more often than not, and often compressible.
        if (random.nextInt(3) == 0) {
          random.nextBytes(value);
        } else {
          Arrays.fill(value, (byte) random.nextInt());
        }
        engine.writes().put(0, key, value, 0);
        model.put(key, value);
      }
      if (random.nextInt(100) == 0) {
        engine.flush();
      }
    }
    engine.flush();
  }

  private static StorageEngine open(
      Storage storage, Random random, Scheduler scheduler, int readers) {
    EngineConfig base =
        Engines.config(storage, CommitSync.ON_DEMAND, new ManualClock(1_000), random, scheduler);
    return StorageEngine.open(
        ConfigDraft.of(base).shape(withReaders(base.shape(), readers * ONE_READER_BYTES)).build());
  }

  private static Shape withReaders(Shape shape, long readerBytesMax) {
    Shape.Tables tables = shape.tables();
    return new Shape(
        shape.memtables(),
        shape.log(),
        shape.commits(),
        shape.levelZero(),
        new Shape.Tables(
            tables.levelBaseBytes(),
            /* bytes= */ 1 << 10,
            tables.blockBytes(),
            /* packsBlocks= */ true),
        new Shape.Caches(readerBytesMax, /* blockBytesMax= */ 2 << 10),
        shape.loadRoom());
  }

  private Storage storage(long seed) {
    try {
      return new FileStorage(directory.resolve("store-" + seed), /* createIfMissing= */ true);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Files this process has mapped. */
  private static long mapped() {
    for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
      if (pool.getName().equals("mapped")) {
        return pool.getCount();
      }
    }
    throw new AssertionError("no figures of mapped files");
  }

  private static byte[] key(int number) {
    return String.format(Locale.ROOT, "key-%05d", number).getBytes(UTF_8);
  }
}
