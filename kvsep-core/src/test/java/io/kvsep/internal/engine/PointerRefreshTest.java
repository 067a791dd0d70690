package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.ReclaimReport;
import io.kvsep.internal.compaction.CompactionJob;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Compactions write pointers that lead to where reclaim has moved values. */
final class PointerRefreshTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final int KEYS = 1_500;
  private static final long YEAR_MILLIS = 365L * 24 * 3_600_000;

  private CrashableStorage storage = new CrashableStorage();
  private final ManualClock clock = new ManualClock(1_000);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);
  private StorageEngine engine = open(storage, 1.5);

  private StorageEngine open(Storage on, double spaceAmplificationMax) {
    scheduler = new ManualScheduler(1, 2);
    EngineConfig base = Engines.config(on, CommitSync.ON_DEMAND, clock, new Random(1), scheduler);
    ReclaimGoal goal = new ReclaimGoal(spaceAmplificationMax, 1 << 10, 256 << 10);
    return StorageEngine.open(ConfigDraft.of(base).reclaim(Engines.reclaim(goal)).build());
  }

  private void reopen() {
    close();
    storage = storage.crashSyncedOnly();
    engine = open(storage, 1.5);
  }

  private void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  private static String key(int index) {
    return String.format("key-%04d", index);
  }

  private void put(Random random, int index) {
    byte[] value = new byte[70 + random.nextInt(60)];
    random.nextBytes(value);
    long expires = random.nextInt(4) == 0 ? clock.millis() + YEAR_MILLIS : 0;
    engine.writes().put(0, key(index).getBytes(UTF_8), value, expires);
    model.put(key(index), value);
  }

  private void putAll(Random random) {
    for (int i = 0; i < KEYS; i++) {
      put(random, i);
    }
  }

  private void check() {
    for (int i = 0; i < KEYS; i++) {
      byte[] found = engine.reads().get(0, key(i).getBytes(UTF_8), StoreReads.LATEST);
      assertArrayEquals(model.get(key(i)), found, key(i));
    }
    try (SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST)) {
      for (Map.Entry<String, byte[]> entry : model.entrySet()) {
        assertTrue(cursor.next());
        assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
        assertArrayEquals(entry.getValue(), cursor.value());
      }
      assertTrue(!cursor.next());
    }
  }

  /** Segments that have no file any more and are named by tables all the same. */
  static List<Long> oldNames(Storage storage) throws IOException {
    MemoryLedger ledger = new MemoryLedger();
    try (VersionSet versions =
        VersionSet.open(
            storage, /* readOnly= */ true, ledger, (tables, segments) -> {}, Readers.unbounded())) {
      List<Long> names = new ArrayList<>();
      versions.current().segments().values().stream()
          .filter(segment -> !segment.hasFile())
          .forEach(segment -> names.add(segment.id()));
      return names;
    }
  }

  @Test
  void whatCompactionWritesAnewNamesNoOldSegment() throws IOException {
    Random random = new Random(1);
    putAll(random);
    for (int i = 0; i < KEYS; i += 3) {
      put(random, i);
    }
    engine.reclaim();
    assertTrue(!oldNames(storage).isEmpty());
    check();

    // Two values of very many, so that the files stay nearly free of garbage.
    put(random, 0);
    put(random, KEYS - 1);
    engine.compact();

    assertEquals(List.of(), oldNames(storage));
    check();
    reopen();
    check();
    for (int i = 0; i < KEYS; i += 2) {
      put(random, i);
    }
    ReclaimReport again = engine.reclaim();
    assertTrue(again.filesRewritten() > 0, again::toString);
    check();
    reopen();
    check();
    close();
  }

  @Test
  void aSnapshotReadsItsPointersWhateverBecomesOfThem() {
    Random random = new Random(3);
    putAll(random);
    for (int i = 0; i < KEYS; i += 3) {
      put(random, i);
    }
    engine.reclaim();
    TreeMap<String, byte[]> then = new TreeMap<>(model);
    try (SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST)) {
      assertTrue(cursor.next());
      engine.compact();
      for (int i = 0; i < KEYS; i++) {
        put(random, i);
      }
      engine.reclaim();
      for (Map.Entry<String, byte[]> entry : then.entrySet()) {
        assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
        assertArrayEquals(entry.getValue(), cursor.value());
        cursor.next();
      }
    }
    check();
    close();
  }

  @Test
  void reclaimInTheMiddleOfACompactionLosesNothing() {
    Seeds.some(
        getClass(),
        40,
        3,
        random -> {
          engine.close();
          storage = new CrashableStorage();
          model.clear();
          Interleaving interleaving = new Interleaving(random);
          engine = open(interleaving.over(storage), 1.5);
          for (int round = 0; round < 6; round++) {
            for (int i = 0; i < KEYS; i++) {
              if (random.nextInt(3) == 0 || !model.containsKey(key(i))) {
                put(random, i);
              }
            }
            // One file has nearly all values then, and the last level all entries.
            engine.reclaim();
            for (int i = 0; i < 8; i++) {
              // Two tables in level 0, so that a compaction is due.
              int from = random.nextInt(KEYS - 16);
              for (int j = 0; j < 16; j++) {
                put(random, from + j);
                if (j % 8 == 7) {
                  engine.flush();
                }
              }
              scheduler.tick();
              interleaving.on = true;
              scheduler.runAll();
              interleaving.on = false;
            }
            check();
          }
          check();
          assertTrue(interleaving.times > 3, () -> interleaving.times + " times");
          reopen();
          check();
        });
    close();
  }

  /** Does other things when a compaction has written its tables and none is in force yet. */
  private final class Interleaving {
    private final Random random;
    private boolean on;
    private int times;

    Interleaving(Random random) {
      this.random = random;
    }

    Storage over(Storage target) {
      return (Storage)
          Proxy.newProxyInstance(
              Storage.class.getClassLoader(),
              new Class<?>[] {Storage.class},
              (proxy, method, arguments) -> {
                if (method.getName().equals("syncDirectory")) {
                  written();
                }
                try {
                  return method.invoke(target, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }

    private void written() {
      boolean compaction =
          StackWalker.getInstance()
              .walk(
                  frames ->
                      frames.anyMatch(
                          frame -> frame.getClassName().equals(CompactionJob.class.getName())));
      if (!on || !compaction || random.nextInt(5) > 0) {
        return;
      }
      on = false;
      times++;
      // Whole tables are dropped, and much of a file dies at once, so that reclaim wants it.
      int from = random.nextInt(KEYS);
      int end = Math.min(KEYS, from + 200 + random.nextInt(800));
      engine.writes().deleteRange(0, key(from).getBytes(UTF_8), key(end).getBytes(UTF_8));
      model.subMap(key(from), key(end)).clear();
      engine.flush();
      for (int i = 0; i < 6; i++) {
        scheduler.tick();
        scheduler.help();
        scheduler.help();
      }
      on = true;
    }
  }
}
