package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.repair.Repair;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Repair of stores whose values reclaim has moved, so that names in the log are gone. */
final class RepairRelocatedTest {
  private static final int KEYS = 1_000;

  /** Keys that were in the log once, far behind those of other records that moved. */
  private static final String GONE = "key-0900-gone-";

  /** What the clock of {@link Engines#config} says. */
  private static final long NOW_MILLIS = 1_000;

  /** Where the first half of all keys is written first. */
  private static final List<String> OLDER =
      List.of(StoreFiles.segment(1), StoreFiles.segment(2), StoreFiles.segment(3));

  private final Random random = new Random(1);
  private final CrashableStorage storage = new CrashableStorage();
  private final StorageEngine engine = StorageEngine.open(config(storage));
  private final KvStore store = new OpenStore(engine);
  private final TreeMap<String, String> model = new TreeMap<>();

  /** Records written so far. */
  private int written;

  /** Reclaim does what it is told to, and no more. */
  private static EngineConfig config(CrashableStorage storage) {
    return ConfigDraft.of(Engines.config(storage, new ManualScheduler(1, 2)))
        .reclaim(EngineConfig.Reclaim.holding(100, 1 << 30))
        .build();
  }

  @AfterEach
  void close() {
    engine.close();
  }

  private static String key(int index) {
    return String.format("key-%04d", index);
  }

  private void put(WriteBatch batch, String key, int length) {
    byte[] value = new byte[length];
    random.nextBytes(value);
    batch.put(key.getBytes(UTF_8), value);
    model.put(key, HexFormat.of().formatHex(value));
    written++;
  }

  /** Each with a frame of its own, which is garbage enough for reclaim to take the segment. */
  private void put(String key) {
    WriteBatch batch = new WriteBatch();
    put(batch, key, 100);
    store.write(batch);
  }

  /** A frame that is longer than a segment, and so makes most of one that reclaim leaves alone. */
  private void putLasting(String name) {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < 60; i++) {
      put(batch, name + i, 2_000);
    }
    store.write(batch);
  }

  /** Has compaction write all tables anew, so that they point to where values are now. */
  private void refreshPointers() {
    put(key(0));
    put(key(KEYS - 1));
    store.compact();
  }

  private static boolean isTable(String name) {
    return StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE;
  }

  private TreeSet<String> logFiles() {
    TreeSet<String> names = new TreeSet<>(RepairHistory.files(storage).keySet());
    names.removeIf(name -> StoreFiles.kindOf(name) != StoreFiles.Kind.SEGMENT);
    return names;
  }

  private static boolean isManifest(String name) {
    return name.equals(StoreFiles.CURRENT) || StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST;
  }

  private void delete(String key) {
    store.delete(key.getBytes(UTF_8));
    model.remove(key);
  }

  /** What came out of a repair. */
  private record Outcome(TreeMap<String, String> entries, TreeSet<String> uncertain) {}

  private Outcome repairWithout(Predicate<String> lost) {
    store.sync();
    Map<String, byte[]> files = RepairHistory.files(storage);
    files.keySet().removeIf(lost);
    CrashableStorage made = new CrashableStorage();
    try (StorageEngine target = Engines.open(made, new ManualScheduler(3, 2))) {
      Repair.Input input =
          new Repair.Input(
              RepairHistory.storageOf(files),
              new CrashableStorage(),
              target,
              NOW_MILLIS,
              /* sortBytes= */ 64 << 10);
      RepairReport result = Repair.run(input);
      Outcome outcome = new Outcome(new TreeMap<>(), new TreeSet<>());
      KvStore read = new OpenStore(target);
      try (KvCursor cursor = read.cursor()) {
        while (cursor.next()) {
          String key = new String(cursor.key(), UTF_8);
          outcome.entries.put(key, HexFormat.of().formatHex(cursor.value()));
        }
      }
      result.uncertain().forEach(key -> outcome.uncertain.add(new String(key.key(), UTF_8)));
      return outcome;
    }
  }

  /**
   * A relocated file has more records than were written between the segments around it, and one
   * that was written later has some of its keys again, under the same numbers as guesses go.
   */
  @Test
  void guessesThatMeetKeepNoStoreFromBeingRepaired() {
    for (int i = 0; i < KEYS; i++) {
      put(key(i));
    }
    putLasting("first-");
    int before = written;
    store.reclaim();
    refreshPointers();
    for (int i = KEYS - KEYS / 10; i < KEYS; i++) {
      put(key(i));
    }
    // The file of all keys moves, and stays.
    store.reclaim();
    putLasting("second-");
    int between = written - before;
    for (int i = 0; i < 20; i++) {
      put(key(between - 10 + 2 * i));
    }
    for (int i = 0; i < 30; i++) {
      put("often");
    }
    store.reclaim();

    Predicate<String> tables = RepairRelocatedTest::isTable;
    for (Predicate<String> lost : List.of(tables, tables.or(RepairRelocatedTest::isManifest))) {
      Outcome outcome = repairWithout(lost);
      assertEquals(model, outcome.entries);
      assertTrue(outcome.uncertain.containsAll(model.subMap("key-", "key.").keySet()));
    }
  }

  /** A store with values in the log, and newer ones in a relocated file that all tables know. */
  private List<String> fillAndMoveNewer() {
    for (int i = 0; i < KEYS; i += 50) {
      WriteBatch batch = new WriteBatch();
      for (int j = i; j < i + 50; j++) {
        put(batch, key(j), 100);
      }
      store.write(batch);
    }
    putLasting("lasting-");
    List<String> moved = new ArrayList<>();
    for (int i = 20; i < KEYS / 2; i += 30) {
      moved.add(key(i));
      put(key(i));
    }
    for (int i = 0; i < 200; i++) {
      put(key(100) + "-" + i);
    }
    for (int i = 0; i < 3; i++) {
      put(GONE + i);
    }
    store.reclaim();
    assertTrue(logFiles().containsAll(OLDER), "what was written first stays where it is");
    refreshPointers();
    return moved;
  }

  /** Repairs without one table after the other, and hands out what came of it. */
  private void withoutEachTable(BiConsumer<String, Outcome> check) {
    for (String table : RepairHistory.files(storage).keySet()) {
      if (isTable(table)) {
        Outcome outcome = repairWithout(table::equals);
        outcome.entries.forEach(
            (key, value) ->
                assertTrue(
                    value.equals(model.get(key)) || outcome.uncertain.contains(key),
                    () -> key + " without " + table));
        check.accept(table, outcome);
      }
    }
  }

  /** The older ones are still in the log. The table that pointed to the newer ones is lost. */
  @Test
  void aNewerRecordCountsThoughTheManifestHasForgottenItsSegment() {
    List<String> moved = fillAndMoveNewer();
    int[] uncertain = {0};
    withoutEachTable(
        (table, outcome) -> {
          for (String key : moved) {
            assertEquals(model.get(key), outcome.entries.get(key), () -> key + " without " + table);
            uncertain[0] += outcome.uncertain.contains(key) ? 1 : 0;
          }
        });
    assertEquals(moved.size(), uncertain[0], "each is in one table");
  }

  @Test
  void recordsThatWereReplacedLaterStayDeadInTheFileTheyWereMovedTo() {
    List<String> moved = fillAndMoveNewer();
    List<String> overwritten = moved.subList(0, 5);
    List<String> deleted = moved.subList(5, 10);
    overwritten.forEach(this::put);
    deleted.forEach(this::delete);
    store.compact();
    withoutEachTable(
        (table, outcome) -> {
          for (String key : moved) {
            assertEquals(model.get(key), outcome.entries.get(key), () -> key + " without " + table);
          }
        });
  }

  /** Nothing else tells of their delete: it was dropped with the entries, and with its segment. */
  @Test
  void aRecordThatNoLostTablePointedToIsDead() {
    fillAndMoveNewer();
    for (int i = 0; i < 3; i++) {
      delete(GONE + i);
    }
    store.compact();
    TreeSet<String> before = logFiles();
    String deletes =
        store.segments().stream()
            .filter(file -> !file.relocated())
            .map(SegmentStats::file)
            .max(Comparator.naturalOrder())
            .orElseThrow();
    store.reclaim();
    before.remove(deletes);
    assertTrue(logFiles().containsAll(before), "also the file of the newer values");
    assertFalse(logFiles().contains(deletes));
    withoutEachTable(
        (table, outcome) -> {
          for (int i = 0; i < 3; i++) {
            assertFalse(outcome.entries.containsKey(GONE + i), table);
          }
        });
  }
}
