package io.kvsep.internal.reclaim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.ReclaimReport;
import io.kvsep.error.CorruptionException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Space of the value log comes back, and nothing else changes. */
final class ReclaimTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final int KEYS = 300;

  private CrashableStorage storage = new CrashableStorage();
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);
  private StorageEngine engine = open(1.5);

  private StorageEngine open(double spaceAmplificationMax) {
    scheduler = new ManualScheduler(1, 2);
    EngineConfig base = Engines.config(storage, scheduler);
    ReclaimGoal goal = new ReclaimGoal(spaceAmplificationMax, 1 << 10, 16 << 10);
    return StorageEngine.open(ConfigDraft.of(base).reclaim(Engines.reclaim(goal)).build());
  }

  private void reopen(double spaceAmplificationMax) {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    storage = storage.crashSyncedOnly();
    engine = open(spaceAmplificationMax);
  }

  private void put(Random random, int index, int length) {
    String key = String.format("key-%04d", index);
    byte[] value = new byte[length];
    random.nextBytes(value);
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
    model.put(key, value);
  }

  private void delete(int index) {
    String key = String.format("key-%04d", index);
    engine.writes().delete(0, key.getBytes(UTF_8));
    model.remove(key);
  }

  private void putAll(Random random) {
    for (int i = 0; i < KEYS; i++) {
      put(random, i, 200);
    }
  }

  private void overwrite(Random random, int writes) {
    for (int i = 0; i < writes; i++) {
      put(random, random.nextInt(KEYS), 100 + random.nextInt(200));
    }
  }

  /** What happens as time passes. */
  private void pass() {
    for (int i = 0; i < 4; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
  }

  private void check() {
    checkReads(model);
    try (SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST)) {
      for (Map.Entry<String, byte[]> entry : model.entrySet()) {
        assertTrue(cursor.next());
        assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
        assertArrayEquals(entry.getValue(), cursor.value());
      }
      assertTrue(!cursor.next());
    }
  }

  private void checkReads(TreeMap<String, byte[]> expected) {
    for (int i = 0; i < KEYS; i++) {
      String key = String.format("key-%04d", i);
      byte[] found = engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
      assertArrayEquals(expected.get(key), found, key);
    }
  }

  private long logFileBytes() throws IOException {
    long bytes = 0;
    for (String name : storage.list()) {
      bytes += StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT ? bytesOf(name) : 0;
    }
    return bytes;
  }

  private long bytesOf(String name) throws IOException {
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      return file.length();
    }
  }

  private void assertLogIsWithin(double amplification) throws IOException {
    long bytes = logFileBytes();
    long live = engine.stats().logLiveBytes();
    assertTrue(
        bytes <= amplification * live + (24 << 10), () -> bytes + " bytes of log for " + live);
    assertEquals(bytes, engine.stats().logBytes());
  }

  @Test
  void overwrittenValuesGiveTheirSpaceBackByThemselves() {
    Seeds.each(
        getClass(),
        3,
        random -> {
          engine.close();
          model.clear();
          storage = new CrashableStorage();
          engine = open(1.5);
          putAll(random);
          for (int round = 0; round < 5; round++) {
            overwrite(random, KEYS);
            engine.flush();
            engine.compact();
            pass();
            check();
            assertLogIsWithin(1.5);
          }
          reopen(1.5);
          check();
          pass();
          check();
        });
  }

  @Test
  void whatWasRewrittenIsRewrittenAgain() throws Exception {
    Random random = new Random(2);
    putAll(random);
    for (int round = 0; round < 6; round++) {
      overwrite(random, KEYS / 3);
      ReclaimReport result = engine.reclaim();
      assertTrue(result.filesRewritten() > 0, () -> result.toString());
      assertTrue(result.bytesFreed() > 0, () -> result.toString());
      check();
      assertLogIsWithin(1.1);
      if (round % 2 == 1) {
        reopen(1.5);
        check();
      }
    }
  }

  @Test
  void nothingIsLeftOfAStoreFromWhichAllIsDeleted() throws Exception {
    Random random = new Random(3);
    putAll(random);
    engine.flush();
    long peak = logFileBytes();
    for (int i = 0; i < KEYS; i++) {
      delete(i);
    }

    ReclaimReport result = engine.reclaim();

    assertEquals(0, logFileBytes());
    assertTrue(result.bytesFreed() >= peak);
    assertEquals(result.filesExamined(), result.filesRemoved());
    check();
    reopen(1.5);
    check();
  }

  @Test
  void aSecondCallFindsNothingToDo() {
    putAll(new Random(4));
    overwrite(new Random(5), KEYS);
    engine.reclaim();

    ReclaimReport second = engine.reclaim();

    assertEquals(0, second.filesRewritten());
    assertEquals(0, second.bytesWritten());
    check();
  }

  @Test
  void cursorsAndSnapshotsFromBeforeSeeWhatTheySaw() throws Exception {
    Random random = new Random(6);
    putAll(random);
    engine.flush();
    TreeMap<String, byte[]> old = new TreeMap<>(model);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
    assertTrue(cursor.next());
    for (int i = 0; i < KEYS; i += 2) {
      delete(i);
    }
    overwrite(random, KEYS);

    engine.reclaim();
    check();
    for (Map.Entry<String, byte[]> entry : old.entrySet()) {
      assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
      assertArrayEquals(entry.getValue(), cursor.value());
      byte[] key = entry.getKey().getBytes(UTF_8);
      assertArrayEquals(entry.getValue(), engine.reads().get(0, key, snapshot));
      cursor.next();
    }
    long pinned = engine.stats().pinned().logBytes();
    assertTrue(pinned > 0);

    cursor.close();
    assertEquals(0, engine.stats().pinned().logBytes());
    for (Map.Entry<String, byte[]> entry : old.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      assertArrayEquals(entry.getValue(), engine.reads().get(0, key, snapshot));
    }
    engine.reads().releaseSnapshot(snapshot);
    engine.reclaim();
    check();
    assertLogIsWithin(1.1);
  }

  @Test
  void aReadUnderWayKeepsItsValue() {
    Random random = new Random(7);
    putAll(random);
    engine.flush();
    byte[] expected = model.get("key-0007");
    engine
        .reads()
        .read(
            0,
            "key-0007".getBytes(UTF_8),
            StoreReads.LATEST,
            value -> {
              overwrite(random, KEYS);
              delete(7);
              engine.reclaim();
              byte[] seen = new byte[value.remaining()];
              value.get(seen);
              assertArrayEquals(expected, seen);
              return null;
            });
    check();
  }

  @Test
  void aDamagedRecordKeepsItsFileAndStopsNothingElse() throws Exception {
    Random random = new Random(8);
    putAll(random);
    engine.flush();
    overwrite(random, 2 * KEYS);
    engine.flush();
    engine.close();
    storage = storage.crashSyncedOnly();
    List<String> segments = new ArrayList<>();
    for (String name : storage.list()) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT) {
        segments.add(name);
      }
    }
    String damaged = segments.get(segments.size() / 2);
    byte[] bytes = storage.contents(damaged);
    for (int at = 200; at < bytes.length; at += 64) {
      bytes[at] ^= 0x10;
    }
    storage.replace(damaged, bytes);
    engine = open(1.5);

    ReclaimReport result = engine.reclaim();

    assertEquals(List.of(damaged), result.damagedFiles());
    assertTrue(result.filesRewritten() > 0);
    assertTrue(storage.exists(damaged));
    int lost = 0;
    for (Map.Entry<String, byte[]> entry : model.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      try {
        assertArrayEquals(entry.getValue(), engine.reads().get(0, key, StoreReads.LATEST));
      } catch (CorruptionException e) {
        assertEquals(damaged, e.file());
        lost++;
      }
    }
    assertTrue(lost > 0 && lost < KEYS / 2, "lost " + lost);
    byte[] absent = engine.reads().get(0, "none".getBytes(UTF_8), StoreReads.LATEST);
    assertNull(absent);
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  /** A log without an active segment goes on behind the one that was sealed. */
  @Test
  void aQuietStoreWhoseLogWasSealedGoesOn() throws Exception {
    engine.close();
    storage = new CrashableStorage();
    scheduler = new ManualScheduler(1, 2);
    EngineConfig base = Engines.config(storage, scheduler);
    engine = StorageEngine.open(ConfigDraft.of(base).segmentBytes(8 << 20).build());
    Random random = new Random(9);
    for (int i = 0; i < 200; i++) {
      put(random, i % 100, 20 << 10);
    }
    ReclaimReport result = engine.reclaim();
    assertTrue(result.filesRewritten() > 0, result::toString);
    for (int i = 0; i < 50; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
    check();
    put(random, 7, 300);
    engine.flush();
    check();
    reopen(1.5);
    check();
  }

  @Test
  void aClosedStoreRefuses() {
    engine.close();
    assertThrows(RuntimeException.class, engine::reclaim);
  }
}
