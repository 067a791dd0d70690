package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.ReclaimReport;
import io.kvsep.SegmentStats;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.WarningHandler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Writing goes on beside files in which a compaction comes upon damage. */
final class BackgroundDamageTest {
  private static final int KEYS = 300;

  private CrashableStorage storage = new CrashableStorage();
  private final Random random = new Random(5);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);
  private StorageEngine engine = open();

  private StorageEngine open() {
    scheduler = new ManualScheduler(1, 2);
    EngineConfig base = Engines.config(storage, scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 16 << 10);
    return StorageEngine.open(ConfigDraft.of(base).reclaim(Engines.reclaim(goal)).build());
  }

  private void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    storage = storage.crashKeepingAll();
  }

  private void reopen() {
    close();
    engine = open();
  }

  private void write(int writes, int valueBytes) {
    for (int i = 0; i < writes; i++) {
      put(String.format("key-%04d", random.nextInt(KEYS)), valueBytes);
      if (i % 20 == 0) {
        pass();
      }
    }
  }

  private void put(String key, int valueBytes) {
    byte[] value = new byte[valueBytes];
    random.nextBytes(value);
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
    model.put(key, value);
  }

  private void pass() {
    scheduler.tick();
    scheduler.runAll();
  }

  /** Flips a bit; the store is closed. */
  private void flip(String file, int at) throws Exception {
    byte[] bytes = storage.contents(file);
    bytes[at] ^= 0x10;
    storage.replace(file, bytes);
  }

  /** Every key has its value, or is refused with the name of a damaged file; those that are. */
  private List<String> checkAllBut(Set<String> damaged) {
    List<String> refused = new ArrayList<>();
    for (Map.Entry<String, byte[]> entry : model.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      try {
        byte[] found = engine.reads().get(0, key, StoreReads.LATEST);
        assertArrayEquals(entry.getValue(), found, entry.getKey());
      } catch (CorruptionException e) {
        assertTrue(damaged.contains(e.file()), e.file());
        refused.add(entry.getKey());
      } catch (IncompatibleFormatException e) {
        assertTrue(damaged.contains(e.file()), e.file());
        refused.add(entry.getKey());
      }
    }
    return refused;
  }

  @Test
  void compactionsPassBesideARelocatedFileWithADamagedHeader() throws Exception {
    write(900, 200);
    engine.reclaim();
    write(100, 200);
    engine.flush();
    Set<String> relocated = new HashSet<>();
    for (SegmentStats file : engine.segments()) {
      if (file.relocated()) {
        relocated.add(file.file());
      }
    }
    assertTrue(!relocated.isEmpty());
    close();
    for (String file : relocated) {
      flip(file, 3);
    }
    engine = open();
    assertTrue(!checkAllBut(relocated).isEmpty());

    write(4_000, 200);

    checkAllBut(relocated);
    engine.flush();
    reopen();
    checkAllBut(relocated);
    close();
  }

  private void writeMore(int writes, int keys) {
    for (int i = 0; i < writes; i++) {
      put(String.format("more-%04d", random.nextInt(keys)), 30);
      if (i % 20 == 0) {
        pass();
      }
    }
  }

  /** The last of the tables that lie in the level; the store is closed. */
  private String newestTable() throws Exception {
    String newest = "";
    for (String name : storage.list()) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE && name.compareTo(newest) > 0) {
        newest = name;
      }
    }
    return newest;
  }

  /** Several tables, all in the last level; the name of one of them. */
  private String fillLastLevel(int keys) throws Exception {
    for (int i = 0; i < keys; i++) {
      put(String.format("more-%04d", i), 30);
    }
    engine.flush();
    engine.compact();
    int[] tables = Engines.levelTables(engine.stats());
    assertTrue(tables[tables.length - 1] > 2, () -> Arrays.toString(tables));
    close();
    return newestTable();
  }

  private int tablesAboveTheLast() {
    int[] tables = Engines.levelTables(engine.stats());
    return Arrays.stream(tables).sum() - tables[tables.length - 1];
  }

  @Test
  void writingGoesOnBesideADamagedBlock() throws Exception {
    // So few that level 0 goes down to the last level.
    String damaged = fillLastLevel(400);
    flip(damaged, 60);
    engine = open();
    int lost = checkAllBut(Set.of(damaged)).size();
    assertTrue(lost > 0 && lost < model.size() / 2, "lost " + lost);

    writeMore(8_000, 400);

    assertTrue(Engines.levelTables(engine.stats())[0] < Engines.TINY.levelZero().stopTables());
    assertEquals(List.of(damaged), engine.stats().reclaim().damagedFiles());
    checkAllBut(Set.of(damaged));
    CorruptionException error = assertThrows(CorruptionException.class, engine::compact);
    assertEquals(damaged, error.file());
    checkAllBut(Set.of(damaged));
    reopen();
    checkAllBut(Set.of(damaged));
    close();
  }

  @Test
  void compactionPassesADamagedTableThoughTheWarningFails() throws Exception {
    String damaged = fillLastLevel(400);
    flip(damaged, 60);
    engine = open();
    try (WarningHandler failing = WarningHandler.failing()) {
      writeMore(400, 400);
      CorruptionException error = assertThrows(CorruptionException.class, engine::compact);
      assertEquals(damaged, error.file());
    }
    checkAllBut(Set.of(damaged));
    close();
  }

  @Test
  void compactionDoesWhatItCanBesideDamagedTables() throws Exception {
    for (int at : new int[] {60, 3}) {
      storage = new CrashableStorage();
      model.clear();
      engine = open();
      String damaged = fillLastLevel(2_000);
      flip(damaged, at);
      engine = open();
      List<String> refused = checkAllBut(Set.of(damaged));
      put(refused.get(0), 30);
      for (String key : List.copyOf(model.keySet())) {
        if (!refused.contains(key)) {
          put(key, 30);
        }
      }
      engine.flush();
      assertTrue(tablesAboveTheLast() > 5);

      KvException error = assertThrows(KvException.class, engine::compact);

      assertTrue(String.valueOf(error.getMessage()).startsWith(damaged), error.getMessage());
      assertTrue(tablesAboveTheLast() <= 2, "what lies over the damaged table");
      checkAllBut(Set.of(damaged));
      KvException again = assertThrows(KvException.class, engine::compact);
      assertTrue(String.valueOf(again.getMessage()).startsWith(damaged), again.getMessage());
      ReclaimReport result = engine.reclaim();
      assertEquals(List.of(damaged), result.damagedFiles());
      checkAllBut(Set.of(damaged));
      close();
    }
  }

  @Test
  void writersAreToldOfADamagedTableInLevelZeroOnceLevelZeroIsFull() throws Exception {
    fillLastLevel(2_000);
    engine = open();
    engine.writes().deleteRange(0, "more-0100".getBytes(UTF_8), "more-0200".getBytes(UTF_8));
    model.subMap("more-0100", "more-0200").clear();
    engine.flush();
    assertEquals(1, Engines.levelTables(engine.stats())[0]);
    close();
    String damaged = newestTable();
    flip(damaged, storage.contents(damaged).length - 20);
    engine = open();

    StorageException error = assertThrows(StorageException.class, () -> writeMore(8_000, 2_000));

    assertTrue(String.valueOf(error.getMessage()).contains(damaged), error.getMessage());
    assertEquals(Engines.TINY.levelZero().stopTables(), Engines.levelTables(engine.stats())[0]);
    checkAllBut(Set.of(damaged));
    assertEquals(List.of(damaged), engine.stats().reclaim().damagedFiles());
    assertThrows(KvException.class, engine::compact);
    reopen();
    checkAllBut(Set.of(damaged));
    close();
  }
}
