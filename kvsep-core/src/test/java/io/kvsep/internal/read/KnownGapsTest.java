package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TestLoad;
import io.kvsep.internal.engine.TestLoad.Item;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Walks over long runs of dead keys: what they cost, and that they miss nothing. */
final class KnownGapsTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  private static final byte[] VALUE = {7};

  private static final int ENTRIES = 1_000;

  /** Dead keys that a pop may step over on average. */
  private static final int DEAD_KEYS_MAX = GapFinder.KEEP_KEYS + GapFinder.LOOK_KEYS;

  private final ManualClock clock = new ManualClock(1_000_000);
  private ManualScheduler scheduler = new ManualScheduler(5, 2);

  private StorageEngine open(Shape shape) {
    scheduler = new ManualScheduler(5, 2);
    EngineConfig config =
        Engines.config(
            new CrashableStorage(), CommitSync.ON_DEMAND, clock, new Random(3), scheduler);
    return StorageEngine.open(ConfigDraft.of(config).shape(shape).build());
  }

  private StorageEngine openLarge() {
    return open(Shape.forBudget(32 << 20, /* packsBlocks= */ false));
  }

  @Test
  void popsFromTheFrontOfAMemtableStepOverFewDeadKeys() {
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      popAll(engine, /* front= */ true, /* flushEach= */ ENTRIES + 1);
    }
  }

  @Test
  void popsFromTheBackOfAMemtableStepOverFewDeadKeys() {
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      popAll(engine, /* front= */ false, /* flushEach= */ ENTRIES + 1);
    }
  }

  @Test
  void popsFromTheFrontOfTablesStepOverFewDeadKeys() {
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      engine.flush();
      popAll(engine, /* front= */ true, /* flushEach= */ ENTRIES / 3);
    }
  }

  @Test
  void popsFromTheBackOfTablesStepOverFewDeadKeys() {
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      engine.flush();
      popAll(engine, /* front= */ false, /* flushEach= */ ENTRIES / 3);
    }
  }

  /** With each flush the tombstones so far are walked over once. */
  private static void popAll(StorageEngine engine, boolean front, int flushEach) {
    long steppedMax = (long) ENTRIES * DEAD_KEYS_MAX;
    for (int i = 0; i < ENTRIES; i++) {
      assertEquals(front ? i : ENTRIES - 1 - i, pop(engine, front));
      if ((i + 1) % flushEach == 0) {
        engine.flush();
        steppedMax += i;
      }
    }
    assertEquals(-1, pop(engine, front));
    long stepped = engine.reads().gaps().deadKeys();
    assertTrue(stepped <= steppedMax, stepped + " dead keys, not " + steppedMax);
  }

  @Test
  void aQueueWithWritersStepsOverFewDeadKeys() {
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      for (int i = 0; i < 2 * ENTRIES; i++) {
        assertEquals(i, pop(engine, /* front= */ true));
        put(engine, ENTRIES + i);
      }
      long stepped = engine.reads().gaps().deadKeys();
      assertTrue(stepped <= 2L * ENTRIES * DEAD_KEYS_MAX, stepped + " dead keys");
      assertTrue(engine.reads().gaps().count() < 100);
    }
  }

  /** As in a queue by priority: what comes may lie anywhere in what was taken before. */
  @Test
  void keysPutIntoAGapDivideIt() {
    Random random = new Random(8);
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      NavigableMap<Integer, Boolean> model = new TreeMap<>();
      for (int i = 0; i < ENTRIES; i++) {
        model.put(i, true);
      }
      for (int i = 0; i < 2 * ENTRIES; i++) {
        assertEquals(model.pollFirstEntry().getKey(), pop(engine, /* front= */ true));
        int key = random.nextInt(ENTRIES);
        put(engine, key);
        model.put(key, true);
      }
      long stepped = engine.reads().gaps().deadKeys();
      assertTrue(stepped <= 4L * ENTRIES * DEAD_KEYS_MAX, stepped + " dead keys");
    }
  }

  @Test
  void deletedRangesInFrontAreSteppedOverOnce() {
    for (boolean front : new boolean[] {true, false}) {
      try (StorageEngine engine = openLarge()) {
        fill(engine);
        engine.flush();
        for (int i = 0; i < ENTRIES; i++) {
          int key = front ? i : ENTRIES - 1 - i;
          assertEquals(key, end(engine, front, StoreReads.LATEST));
          engine.writes().deleteRange(0, key(key), key(key + 1));
        }
        long stepped = engine.reads().gaps().deadKeys();
        assertTrue(stepped <= (long) ENTRIES * DEAD_KEYS_MAX, stepped + " dead keys");
      }
    }
  }

  @Test
  void anOlderSnapshotSeesWhatIsInTheGap() {
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      SnapshotLease hold = engine.reads().acquireSnapshot();
      for (int i = 0; i < 200; i++) {
        pop(engine, /* front= */ true);
      }
      assertTrue(engine.reads().gaps().count() > 0);
      assertEquals(0, end(engine, /* front= */ true, hold));
      assertEquals(200, end(engine, /* front= */ true, StoreReads.LATEST));
      engine.reads().releaseSnapshot(hold);
    }
  }

  /** What has expired at one time has not at an earlier one. */
  @Test
  void aClockThatIsPutBackShowsWhatExpiredMeanwhile() {
    try (StorageEngine engine = openLarge()) {
      for (int i = 0; i < 200; i++) {
        engine.writes().put(0, key(i), VALUE, 1_000);
      }
      put(engine, 500);
      clock.advance(1_000);
      assertEquals(500, end(engine, /* front= */ true, StoreReads.LATEST));
      assertEquals(1, engine.reads().gaps().count());
      clock.advance(-1);
      assertEquals(0, end(engine, /* front= */ true, StoreReads.LATEST));
      clock.advance(1);
      assertEquals(500, end(engine, /* front= */ true, StoreReads.LATEST));
    }
  }

  @Test
  void aBulkLoadIntoAGapIsSeen() {
    try (StorageEngine engine = openLarge()) {
      fill(engine);
      for (int i = 0; i < 200; i++) {
        pop(engine, /* front= */ true);
      }
      TestLoad load = new TestLoad(List.of(new Item(key(100), VALUE), new Item(key(150), VALUE)));
      assertEquals(2, engine.loads().load(0, load));
      assertEquals(100, end(engine, /* front= */ true, StoreReads.LATEST));
      assertEquals(100, pop(engine, /* front= */ true));
      assertEquals(150, pop(engine, /* front= */ true));
      assertEquals(200, pop(engine, /* front= */ true));
    }
  }

  @Test
  void noMoreGapsAreKeptThanThereIsRoomFor() {
    KnownGaps gaps = new KnownGaps();
    try (StorageEngine engine = openLarge();
        PinnedReadState moment = engine.reads().moment()) {
      MemtableHighWater mark = MemtableHighWater.of(moment.readState());
      for (int i = 0; i < 5_000; i++) {
        gaps.add(new KnownGaps.Gap(key(2 * i), key(2 * i + 1), 30, 1, 0, mark));
        assertTrue(gaps.count() <= 1_024);
      }
      // A gap that spares more walks stays.
      gaps.add(new KnownGaps.Gap(key(20_000), key(30_000), 10_000, 1, 0, mark));
      for (int i = 0; i < 5_000; i++) {
        gaps.add(new KnownGaps.Gap(key(2 * i), key(2 * i + 1), 30, 1, 0, mark));
        assertTrue(gaps.count() <= 1_024);
      }
      assertNotNull(gaps.around(key(25_000)));
      gaps.add(new KnownGaps.Gap(key(0), new byte[600], 30, 1, 0, mark));
      gaps.add(new KnownGaps.Gap(key(0), key(30_000), 30, 1, 0, mark));
      assertEquals(1, gaps.count());
    }
  }

  @Test
  void everyWalkShowsWhatTheModelHas() {
    Seeds.each(getClass(), Integer.getInteger("kvsep.seeds", 8), this::compare);
  }

  private void compare(Random random) {
    Shape shape = random.nextBoolean() ? Engines.TINY : Engines.withMemtables(64 << 10);
    try (StorageEngine engine = open(shape)) {
      NavigableMap<Integer, Long> model = new TreeMap<>();
      List<Past> pasts = new ArrayList<>();
      int keys = 40 + random.nextInt(400);
      for (int i = 0; i < keys; i++) {
        put(engine, i);
        model.put(i, Long.MAX_VALUE);
      }
      for (int step = 0; step < 800; step++) {
        change(engine, model, random, keys);
        if (random.nextInt(60) == 0) {
          pasts.add(new Past(engine.reads().acquireSnapshot(), new TreeMap<>(model)));
        }
        if (random.nextInt(4) == 0) {
          check(engine, model, StoreReads.LATEST, random, keys);
        }
        if (!pasts.isEmpty() && random.nextInt(8) == 0) {
          Past past = pasts.get(random.nextInt(pasts.size()));
          check(engine, past.model, past.hold, random, keys);
        }
      }
      pasts.forEach(past -> engine.reads().releaseSnapshot(past.hold));
    }
  }

  private record Past(SnapshotLease hold, NavigableMap<Integer, Long> model) {}

  private void change(
      StorageEngine engine, NavigableMap<Integer, Long> model, Random random, int keys) {
    switch (random.nextInt(40)) {
      case 0 -> engine.flush();
      case 1 -> scheduler.runAll();
      case 2 -> {
        if (random.nextInt(4) == 0) {
          engine.compact();
        }
      }
      case 3 -> {
        int from = random.nextInt(keys);
        int to = from + random.nextInt(keys / 4);
        engine.writes().deleteRange(0, key(from), key(to));
        model.subMap(from, to).clear();
      }
      case 4 -> clock.advance(random.nextInt(20));
      case 5, 6 -> {
        int key = random.nextInt(keys);
        engine.writes().put(0, key(key), VALUE, 50);
        model.put(key, clock.millis() + 50);
      }
      case 7, 8, 9 -> {
        int key = random.nextInt(keys);
        put(engine, key);
        model.put(key, Long.MAX_VALUE);
      }
      case 10 -> {
        int from = random.nextInt(keys);
        for (int key = from; key < Math.min(keys, from + 60); key++) {
          engine.writes().delete(0, key(key));
          model.remove(key);
        }
      }
      case 11 -> {
        int from = random.nextInt(keys);
        for (int key = from; key < Math.min(keys, from + 60); key++) {
          put(engine, key);
          model.put(key, Long.MAX_VALUE);
        }
      }
      default -> {
        boolean front = random.nextBoolean();
        int expected = end(model, front, clock.millis());
        assertEquals(expected, pop(engine, front));
        model.remove(expected);
      }
    }
  }

  private void check(
      StorageEngine engine,
      NavigableMap<Integer, Long> model,
      SnapshotLease hold,
      Random random,
      int keys) {
    int from = random.nextInt(keys);
    int to = from + random.nextInt(keys);
    boolean bounded = random.nextBoolean();
    ScanBounds bounds =
        bounded
            ? new ScanBounds(0, key(from), key(to), random.nextBoolean(), false, Long.MAX_VALUE)
            : ALL;
    NavigableMap<Integer, Long> shown =
        new TreeMap<>(bounded ? model.subMap(from, true, to, false) : model);
    shown.values().removeIf(expiry -> expiry <= clock.millis());
    try (SnapshotCursor cursor = engine.reads().cursor(bounds, hold)) {
      if (random.nextBoolean()) {
        List<Integer> expected =
            new ArrayList<>(bounds.reverse() ? shown.descendingKeySet() : shown.keySet());
        List<Integer> found = new ArrayList<>();
        while (cursor.next()) {
          found.add(number(cursor.key()));
        }
        assertEquals(expected, found);
        return;
      }
      for (int i = 0; i < 6; i++) {
        int target = random.nextInt(keys);
        boolean up = random.nextBoolean();
        Integer expected =
            up != bounds.reverse() ? shown.ceilingKey(target) : shown.floorKey(target);
        boolean found = up ? cursor.seek(key(target)) : cursor.seekFloor(key(target));
        for (int steps = random.nextInt(4); ; steps--) {
          assertEquals(expected != null, found);
          if (expected == null || steps == 0) {
            break;
          }
          assertEquals(expected, number(cursor.key()));
          boolean on = random.nextBoolean();
          expected = on != bounds.reverse() ? shown.higherKey(expected) : shown.lowerKey(expected);
          found = on ? cursor.next() : cursor.previous();
        }
      }
    }
  }

  private static int end(NavigableMap<Integer, Long> model, boolean front, long now) {
    for (Map.Entry<Integer, Long> entry : (front ? model : model.descendingMap()).entrySet()) {
      if (entry.getValue() > now) {
        return entry.getKey();
      }
    }
    return -1;
  }

  private static void fill(StorageEngine engine) {
    for (int i = 0; i < ENTRIES; i++) {
      put(engine, i);
    }
  }

  private static void put(StorageEngine engine, int number) {
    engine.writes().put(0, key(number), VALUE, 0);
  }

  /** Takes the first entry, or the last one; -1 for none. */
  private static int pop(StorageEngine engine, boolean front) {
    int number = end(engine, front, StoreReads.LATEST);
    if (number >= 0) {
      engine.writes().delete(0, key(number));
    }
    return number;
  }

  private static int end(StorageEngine engine, boolean front, SnapshotLease hold) {
    try (SnapshotCursor cursor = engine.reads().cursor(ALL, hold)) {
      boolean found = front ? cursor.next() : cursor.previous();
      if (found) {
        assertArrayEquals(VALUE, cursor.value());
      }
      assertEquals(found, cursor.isValid());
      return found ? number(cursor.key()) : -1;
    }
  }

  private static byte[] key(int number) {
    return new byte[] {
      (byte) (number >>> 24), (byte) (number >>> 16), (byte) (number >>> 8), (byte) number
    };
  }

  private static int number(byte[] key) {
    assertFalse(Arrays.equals(key, new byte[0]));
    return key[0] << 24 | (key[1] & 0xff) << 16 | (key[2] & 0xff) << 8 | (key[3] & 0xff);
  }
}
