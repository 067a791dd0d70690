package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.repair.Repair;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** Repair of stores in which flushes have put the values in order, so that the log is gone. */
final class RepairOrderedTest {
  private static final int KEYS = 300;

  /** What the clock of {@link Engines#config} says. */
  private static final long NOW_MILLIS = 1_000;

  private final Random random = new Random(1);
  private final CrashableStorage storage = new CrashableStorage();
  private final TreeMap<String, String> model = new TreeMap<>();

  private StorageEngine open() {
    return StorageEngine.open(
        ConfigDraft.of(Engines.config(storage, new ManualScheduler(1, 2)))
            .shape(Engines.withOrderedFlushes())
            .reclaim(Engines.reclaim(new ReclaimGoal(100, 1 << 20, 1 << 20), 0))
            .build());
  }

  /** Writes so many of the keys in no order. */
  private void fill(KvStore store, int count) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < KEYS; i++) {
      order.add(i);
    }
    Collections.shuffle(order, random);
    for (int i : order.subList(0, count)) {
      byte[] value = new byte[70];
      random.nextBytes(value);
      String key = String.format("key-%04d", i);
      store.put(key.getBytes(UTF_8), value);
      model.put(key, digest(value));
    }
    store.flush();
  }

  private static String digest(byte[] value) {
    return Integer.toHexString(Arrays.hashCode(value));
  }

  private static boolean isTable(String name) {
    return StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE;
  }

  private static boolean isManifest(String name) {
    return name.equals(StoreFiles.CURRENT) || StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST;
  }

  private void requireRepaired(Predicate<String> lost, boolean certain) {
    Map<String, byte[]> files = RepairHistory.files(storage);
    files.keySet().removeIf(lost);
    try (StorageEngine target = Engines.open(new CrashableStorage(), new ManualScheduler(3, 2))) {
      RepairReport result =
          Repair.run(
              new Repair.Input(
                  RepairHistory.storageOf(files),
                  new CrashableStorage(),
                  target,
                  NOW_MILLIS,
                  /* sortBytes= */ 64 << 10));
      TreeMap<String, String> found = new TreeMap<>();
      try (KvCursor cursor = new OpenStore(target).cursor()) {
        while (cursor.next()) {
          found.put(new String(cursor.key(), UTF_8), digest(cursor.value()));
        }
      }
      assertEquals(model, found);
      TreeSet<String> uncertain = new TreeSet<>();
      result.uncertain().forEach(key -> uncertain.add(new String(key.key(), UTF_8)));
      assertEquals(certain ? new TreeSet<String>() : model.keySet(), uncertain);
    }
  }

  @Test
  void theNewestValuesAreFoundWithoutTablesAndLog() {
    try (StorageEngine engine = open()) {
      KvStore store = new OpenStore(engine);
      fill(store, KEYS);
      fill(store, KEYS / 2);
      fill(store, KEYS / 3);
      assertTrue(engine.segments().stream().allMatch(file -> file.relocated()), "the log is gone");
      requireRepaired(name -> false, /* certain= */ true);
      requireRepaired(RepairOrderedTest::isManifest, /* certain= */ true);
      Predicate<String> tables = RepairOrderedTest::isTable;
      requireRepaired(tables, /* certain= */ false);
      requireRepaired(tables.or(RepairOrderedTest::isManifest), /* certain= */ false);
    }
  }
}
