package io.kvsep.internal.reclaim;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.SegmentStats;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Whatever was written, in whatever order: without writers, values are moved and tables pointed to
 * them until there is nothing left to do, and everything that was there stays, for cursors too.
 */
final class OrderingModelTest {
  private static final int KEYS = 500;
  private static final int SEGMENT_BYTES = 100_000;
  private static final int ORDER_FROM_BYTES = 500_000;
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  /** Looks of the timer, more than enough for a store to become quiet and come to rest. */
  private static final int REST_TICKS = 60;

  @Test
  void aStoreAtRestComesToAnEndAndLosesNothing() {
    Seeds.each(
        getClass(),
        12,
        random -> {
          Store store = new Store(random);
          for (int round = 0; round < 3; round++) {
            store.write();
            try (SnapshotCursor cursor = store.engine.reads().cursor(ALL, StoreReads.LATEST)) {
              TreeMap<Integer, byte[]> then = new TreeMap<>(store.model);
              if (random.nextBoolean()) {
                store.rest();
              }
              Store.requireAll(cursor, then);
            }
            store.requireAtRest();
          }
          store.engine.compact();
          assertTrue(store.moved() + store.filesInOrder() > 0, "nothing was moved");
          store.reopen();
          store.requireAtRest();
          store.close();
        });
  }

  /** A store, and what it should hold. */
  private static final class Store {
    final Random random;
    final TreeMap<Integer, byte[]> model = new TreeMap<>();
    private final ManualScheduler scheduler = new ManualScheduler(3, 2);
    private CrashableStorage storage = new CrashableStorage();
    private final long coldFrom;
    private StorageEngine engine;

    Store(Random random) {
      this.random = random;
      // Never in memory, always, or until it has grown.
      long[] bounds = {ORDER_FROM_BYTES, Long.MAX_VALUE, 3 * ORDER_FROM_BYTES};
      coldFrom = bounds[random.nextInt(bounds.length)];
      engine = open();
    }

    private StorageEngine open() {
      ReclaimGoal goal = new ReclaimGoal(1.5, 256, SEGMENT_BYTES);
      return StorageEngine.open(
          ConfigDraft.of(Engines.config(storage, scheduler))
              .compressionBytesMin(Integer.MAX_VALUE)
              .segmentBytes(SEGMENT_BYTES)
              .reclaim(new Reclaim(goal, 0, Long.MAX_VALUE, () -> coldFrom))
              .build());
    }

    /** Some or all keys anew, in order or not, and some deletes. */
    void write() {
      List<Integer> keys = new ArrayList<>();
      boolean all = model.isEmpty() || random.nextBoolean();
      for (int n = 0; n < KEYS; n++) {
        if (all || random.nextInt(3) == 0) {
          keys.add(n);
        }
      }
      if (random.nextInt(3) > 0) {
        Collections.shuffle(keys, random);
      }
      for (int n : keys) {
        byte[] value = new byte[random.nextInt(10) == 0 ? 30 : 2_000 + random.nextInt(2_000)];
        random.nextBytes(value);
        engine.writes().put(0, key(n), value, 0);
        model.put(n, value);
      }
      for (int deletes = random.nextInt(50); deletes > 0; deletes--) {
        int n = random.nextInt(KEYS);
        engine.writes().delete(0, key(n));
        model.remove(n);
      }
      int from = random.nextInt(KEYS);
      int to = from + 1 + random.nextInt(20);
      engine.writes().deleteRange(0, key(from), key(to));
      model.subMap(from, to).clear();
      if (random.nextBoolean()) {
        engine.compact();
      }
    }

    void rest() {
      for (int i = 0; i < REST_TICKS; i++) {
        scheduler.tick();
        scheduler.runAll();
      }
    }

    /** Of flushes, too. */
    long filesInOrder() {
      return engine.segments().stream().filter(SegmentStats::relocated).count();
    }

    long moved() {
      return engine.stats().reclaim().filesRewritten();
    }

    /** Brings the store to rest, where it stays. */
    void requireAtRest() {
      rest();
      long moved = moved();
      long compactions = engine.stats().compactions();
      rest();
      assertEquals(moved, moved(), "files of values that were rewritten");
      assertEquals(compactions, engine.stats().compactions(), "compactions");
      scheduler.tick();
      assertFalse(scheduler.help(), "something is still looked for");
      try (SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST)) {
        requireAll(cursor, model);
      }
      for (int n = 0; n < KEYS; n++) {
        assertArrayEquals(model.get(n), engine.reads().get(0, key(n), StoreReads.LATEST));
      }
      assertEquals(List.of(), engine.verify().problems());
    }

    static void requireAll(SnapshotCursor cursor, Map<Integer, byte[]> expected) {
      expected.forEach(
          (n, value) -> {
            assertTrue(cursor.next());
            assertArrayEquals(key(n), cursor.key());
            assertArrayEquals(value, cursor.value());
          });
      assertFalse(cursor.next());
    }

    /** After a power failure that takes all that was not synced. */
    void reopen() {
      engine.sync();
      close();
      storage = storage.crashSyncedOnly();
      engine = open();
    }

    void close() {
      engine.close();
      assertEquals(0, engine.memoryBytes());
      assertEquals(List.of(), storage.openFiles());
    }

    private static byte[] key(int n) {
      return ByteBuffer.allocate(4).putInt(n).array();
    }
  }
}
