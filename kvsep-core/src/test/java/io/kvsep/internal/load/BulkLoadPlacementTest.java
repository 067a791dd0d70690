package io.kvsep.internal.load;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.VerifyReport;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TestLoad;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Loads between flushes and compactions that others have begun, and writes during a load. */
final class BulkLoadPlacementTest {
  private static final int KEYS = 400;

  private static byte[] key(int n) {
    return String.format("key%04d", n).getBytes(UTF_8);
  }

  private static byte[] value(Random random) {
    byte[] value = new byte[random.nextInt(random.nextInt(10) == 0 ? 900 : 150)];
    random.nextBytes(value);
    return value;
  }

  /** Entries; before some of them something else is done with the store. */
  private static final class Load implements LoadSource {
    private final TestLoad entries;
    private final Random random;
    private final Runnable between;

    Load(List<TestLoad.Item> entries, Random random, Runnable between) {
      this.entries = new TestLoad(entries);
      this.random = random;
      this.between = between;
    }

    @Override
    public boolean next() {
      if (random.nextInt(20) == 0) {
        between.run();
      }
      return entries.next();
    }

    @Override
    public byte[] key() {
      return entries.key();
    }

    @Override
    public byte[] value() {
      return entries.value();
    }

    @Override
    public long expiresAtMillis() {
      return entries.expiresAtMillis();
    }
  }

  private static void requireSame(Map<Integer, byte[]> model, StorageEngine engine) {
    for (int n = 0; n < KEYS; n++) {
      byte[] found = engine.reads().get(0, key(n), StoreReads.LATEST);
      byte[] expected = model.get(n);
      if (expected == null) {
        assertNull(found, "key " + n);
      } else {
        assertArrayEquals(expected, found, "key " + n);
      }
    }
    VerifyReport verified = engine.verify();
    assertEquals(List.of(), verified.problems());
    assertEquals(List.of(), verified.unknownFiles());
  }

  @Test
  void loadsAreNewerThanAllThatCameBeforeTheirEnd() {
    int[] overtaken = new int[1];
    Seeds.some(
        BulkLoadPlacementTest.class,
        "loadsAreNewerThanAllThatCameBeforeTheirEnd",
        120,
        10,
        seed -> overtaken[0] += run(new Random(seed)));
    assertTrue(overtaken[0] > 10 || Long.getLong("kvsep.seed") != null, "never overtaken");
  }

  /** What the compaction writes may take all keys between its tables. */
  @Test
  void aLoadIsNotPutIntoAGapOfACompactionThatIsAtWork() {
    ManualScheduler scheduler = new ManualScheduler(1, 1);
    Map<Integer, byte[]> model = new TreeMap<>();
    Random random = new Random(1);
    try (StorageEngine engine = Engines.open(new CrashableStorage(), scheduler)) {
      // As many tables as make level 0 due; the compaction is chosen, and waits for its thread.
      for (int n : new int[] {0, KEYS - 1}) {
        model.put(n, value(random));
        engine.writes().put(0, key(n), model.get(n), 0);
        engine.flush();
      }
      int between = KEYS / 2;
      model.put(between, value(random));
      TestLoad load = new TestLoad(List.of(new TestLoad.Item(key(between), model.get(between))));
      assertEquals(1, engine.loads().load(0, load));
      assertEquals(0, engine.stats().compactions(), "it is at work still");
      scheduler.runAll();
      assertEquals(1, engine.stats().compactions());
      requireSame(model, engine);
    }
  }

  private static int run(Random random) {
    ManualScheduler scheduler = new ManualScheduler(3, 2);
    CrashableStorage storage = new CrashableStorage();
    Map<Integer, byte[]> model = new TreeMap<>();
    int[] writes = new int[1];
    int overtaken = 0;
    try (StorageEngine engine = Engines.open(storage, scheduler)) {
      for (int round = 0; round < 12; round++) {
        for (int i = random.nextInt(250); i > 0; i--) {
          disturb(engine, scheduler, model, random, writes);
        }
        List<TestLoad.Item> entries = new ArrayList<>();
        Map<Integer, byte[]> loaded = new TreeMap<>();
        int from = random.nextInt(KEYS);
        int span = 1 + random.nextInt(KEYS - from);
        boolean ascending = random.nextBoolean();
        for (int i = random.nextInt(200); i > 0; i--) {
          int n = ascending ? from + loaded.size() : from + random.nextInt(span);
          if (n < KEYS) {
            byte[] value = value(random);
            entries.add(new TestLoad.Item(key(n), value));
            loaded.put(n, value);
          }
        }
        int writesBefore = writes[0];
        Load load =
            new Load(entries, random, () -> disturb(engine, scheduler, model, random, writes));
        assertEquals(entries.size(), engine.loads().load(0, load));
        overtaken += !entries.isEmpty() && writes[0] - writesBefore > 4 ? 1 : 0;
        model.putAll(loaded);
        requireSame(model, engine);
      }
      engine.compact();
      requireSame(model, engine);
      engine.reclaim();
      requireSame(model, engine);
    }
    try (StorageEngine engine =
        Engines.open(storage.crashSyncedOnly(), new ManualScheduler(3, 2))) {
      requireSame(model, engine);
    }
    return overtaken;
  }

  private static void disturb(
      StorageEngine engine,
      ManualScheduler scheduler,
      Map<Integer, byte[]> model,
      Random random,
      int[] writes) {
    int n = random.nextInt(KEYS);
    switch (random.nextInt(20)) {
      case 0 -> engine.flush();
      case 1, 2 -> scheduler.help();
      case 3 -> {
        int to = n + random.nextInt(20);
        engine.writes().deleteRange(0, key(n), key(to));
        for (int gone = n; gone < to; gone++) {
          model.remove(gone);
        }
        writes[0]++;
      }
      case 4, 5, 6 -> {
        engine.writes().delete(0, key(n));
        model.remove(n);
        writes[0]++;
      }
      default -> {
        byte[] value = value(random);
        engine.writes().put(0, key(n), value, 0);
        model.put(n, value);
        writes[0]++;
      }
    }
  }
}
