package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A table that the device fails to read is left alone until the store is reopened. Meanwhile
 * writing and the compactions of other tables go on, with one compaction at a time.
 */
final class UnreadableCompactionTest {
  /** So few that level 0 goes down to the last level. */
  private static final int KEYS = 400;

  /** Many times as often as compactions are tried again. */
  private static final int TICKS = 100;

  private CrashableStorage files = new CrashableStorage();
  private Device device = new Device(files);
  private final Random random = new Random(5);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private ManualScheduler scheduler = new ManualScheduler(1, 1);
  private StorageEngine engine = open();

  /** Does not map some files. */
  private static final class Device extends ForwardingStorage {
    private final Set<String> unreadable = new HashSet<>();
    private int refusals;

    /** Told of each table before it is made. */
    private Runnable tables = () -> {};

    Device(CrashableStorage storage) {
      super(storage);
    }

    @Override
    public StorageFile create(String name) throws IOException {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE) {
        tables.run();
      }
      return super.create(name);
    }

    @Override
    protected StorageFile wrap(StorageFile file) {
      return new ForwardingFile(file) {
        @Override
        public ByteBuffer map(long length) throws IOException {
          if (unreadable.contains(name())) {
            refusals++;
            throw new IOException("Input/output error");
          }
          return super.map(length);
        }
      };
    }
  }

  private StorageEngine open() {
    scheduler = new ManualScheduler(1, 1);
    return Engines.open(device, scheduler);
  }

  @AfterEach
  void nothingIsLeft() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), files.openFiles());
  }

  private void put(int number) {
    String key = String.format("key-%04d", number);
    byte[] value = new byte[30];
    random.nextBytes(value);
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
    model.put(key, value);
  }

  private void write(int writes, int from, int to) {
    for (int i = 0; i < writes; i++) {
      put(from + random.nextInt(to - from));
      if (i % 20 == 0) {
        pass();
      }
    }
  }

  private void pass() {
    scheduler.tick();
    scheduler.runAll();
  }

  /** A last level of several tables; the last one cannot be read from now on. */
  private void fillLastLevel() throws IOException {
    for (int i = 0; i < KEYS; i++) {
      put(i);
    }
    engine.flush();
    engine.compact();
    engine.close();
    loseLastTable();
    engine = open();
  }

  private void loseLastTable() throws IOException {
    files = files.crashKeepingAll();
    device = new Device(files);
    device.unreadable.add(
        Collections.max(
            files.list().stream()
                .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE)
                .toList()));
  }

  private int levelZero() {
    return Engines.levelTables(engine.stats())[0];
  }

  /** How many keys cannot be read; all others have their values. */
  private int unreadableKeys() {
    int unreadable = 0;
    for (Map.Entry<String, byte[]> entry : model.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      try {
        assertArrayEquals(
            entry.getValue(), engine.reads().get(0, key, StoreReads.LATEST), entry.getKey());
      } catch (StorageException e) {
        unreadable++;
      }
    }
    return unreadable;
  }

  private void reopen() {
    engine.close();
    files = files.crashKeepingAll();
    device = new Device(files);
    engine = open();
  }

  @Test
  void writingGoesOnWhereEverythingLiesAboveTheTable() throws IOException {
    fillLastLevel();

    write(8_000, 0, KEYS);

    List<String> left = List.copyOf(device.unreadable);
    assertEquals(left, engine.stats().reclaim().damagedFiles(), "left alone");
    assertTrue(
        levelZero() < Engines.TINY.levelZero().stopTables(), "tables in level 0: " + levelZero());
    engine.flush();
    assertEquals(0, unreadableKeys(), "all have newer values");
    assertThrows(StorageException.class, engine::compact);
    reopen();
    engine.compact();
    assertEquals(List.of(), engine.stats().reclaim().damagedFiles());
    assertEquals(0, unreadableKeys());
  }

  @Test
  void othersAreCompactedAndTheTableIsNotTriedAgain() throws IOException {
    fillLastLevel();
    int keys = unreadableKeys();
    assertTrue(keys > 0 && keys < KEYS / 2, "keys " + keys);
    write(400, KEYS - keys, KEYS);
    engine.flush();
    pass();
    assertEquals(List.copyOf(device.unreadable), engine.stats().reclaim().damagedFiles());
    int refused = device.refusals;

    for (int i = 0; i < 20; i++) {
      write(200, 0, KEYS - keys);
      IntStream.range(0, TICKS).forEach(n -> pass());
    }

    assertTrue(
        levelZero() < Engines.TINY.levelZero().stopTables(), "tables in level 0: " + levelZero());
    assertEquals(refused, device.refusals);
    reopen();
    engine.compact();
    assertEquals(0, unreadableKeys());
  }

  private void delete(int number) {
    String key = String.format("key-%04d", number);
    engine.writes().delete(0, key.getBytes(UTF_8));
    model.remove(key);
  }

  /** A snapshot keeps the others worth rewriting, whenever the last level is looked at again. */
  @Test
  void timePassesWhileEverythingIsCompacted() throws IOException {
    for (int i = 0; i < KEYS; i++) {
      put(i);
    }
    SnapshotLease first = engine.reads().acquireSnapshot();
    IntStream.range(0, KEYS).filter(i -> i % 10 == 0).forEach(this::delete);
    engine.compact();
    engine.reads().releaseSnapshot(first);
    engine.close();
    loseLastTable();
    engine = open();
    SnapshotLease second = engine.reads().acquireSnapshot();
    IntStream.range(0, KEYS / 2).filter(i -> i % 10 == 5).forEach(this::delete);
    int[] made = {0};
    device.tables =
        () -> {
          assertTrue(++made[0] < 1_000, "written again and again");
          IntStream.range(0, TICKS).forEach(i -> scheduler.tick());
        };

    assertThrows(StorageException.class, engine::compact);

    device.tables = () -> {};
    assertTrue(made[0] > 0);
    assertEquals(List.copyOf(device.unreadable), engine.stats().reclaim().damagedFiles());
    engine.reads().releaseSnapshot(second);
    reopen();
    engine.compact();
    assertEquals(0, unreadableKeys());
  }

  @Test
  void aTableThatCanBeReadAgainIsLeftAloneUntilTheStoreIsReopened() throws IOException {
    fillLastLevel();
    put(KEYS - 1);
    assertThrows(StorageException.class, engine::compact);
    List<String> left = List.copyOf(device.unreadable);
    assertEquals(left, engine.stats().reclaim().damagedFiles());

    device.unreadable.clear();
    IntStream.range(0, TICKS).forEach(i -> pass());

    assertThrows(StorageException.class, engine::compact);
    assertEquals(left, engine.stats().reclaim().damagedFiles());
    assertEquals(0, unreadableKeys());
    reopen();
    engine.compact();
    assertEquals(List.of(), engine.stats().reclaim().damagedFiles());
    assertEquals(0, unreadableKeys());
  }
}
