package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.repair.Repair;
import io.kvsep.internal.repair.RepairResult;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Repair of stores whose values reclaim has moved, so that names in the log are gone. */
final class RepairRelocatedTest {
  private static final int KEYS = 1_000;

  /** What the clock of {@link Engines#config} says. */
  private static final long NOW_MILLIS = 1_000;

  private final Random random = new Random(1);
  private final CrashableStorage storage = new CrashableStorage();
  private final StorageEngine engine = StorageEngine.open(config(storage));
  private final KvStore store = new OpenStore(engine);
  private final TreeMap<String, String> model = new TreeMap<>();

  /** Records written so far. */
  private int written;

  /** Reclaim does what it is told to, and no more. */
  private static EngineConfig config(CrashableStorage storage) {
    return Engines.config(storage, new ManualScheduler(1, 2))
        .with(EngineConfig.Reclaim.holding(100, 1 << 30));
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

  private static boolean isManifest(String name) {
    return name.equals(StoreFiles.CURRENT) || StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST;
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
      RepairResult result = Repair.run(input);
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
}
