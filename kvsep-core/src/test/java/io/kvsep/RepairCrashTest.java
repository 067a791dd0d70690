package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.repair.Repair;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** What a crash leaves is no damage: where the store opens, a repair says what the open would. */
final class RepairCrashTest {
  private static final int KEYS = 40;
  private static final int STATES = 3;

  /** Moments of a short run, and stretches of the workload that each of them meets. */
  private static final int MOMENTS = 24;

  private static final int STRETCHES = 12;
  private static final long SEGMENT_BYTES = 4 << 10;

  /** A key that no load has. */
  private static final String LOGGED = "key-01";

  /** What stands behind the last edit of a manifest. */
  private static final int MARK_BYTES = 8;

  /** What the clock of {@link Engines#config} says. */
  private static final long NOW_MILLIS = 1_000;

  private final Random random = new Random(1);
  private final ManualScheduler scheduler = new ManualScheduler(1, 2);

  private static EngineConfig config(CrashableStorage storage, ManualScheduler scheduler) {
    return ConfigDraft.of(Engines.config(storage, scheduler))
        .segmentBytes(SEGMENT_BYTES)
        .reclaim(Engines.reclaim(new ReclaimGoal(1.05, 256, 4 << 10)))
        .build();
  }

  private static byte[] key(int index) {
    return String.format("key-%02d", index).getBytes(UTF_8);
  }

  private byte[] value() {
    byte[] value = new byte[random.nextInt(3) == 0 ? 20 : 100 + random.nextInt(300)];
    random.nextBytes(value);
    return value;
  }

  private void put(KvStore store, int writes) {
    for (int i = 0; i < writes; i++) {
      store.put(key(random.nextInt(KEYS)), value());
    }
  }

  /** Deleted keys, garbage, a keyspace that was dropped, and tables that were compacted. */
  private void fill(KvStore store) {
    for (int i = 0; i < KEYS; i++) {
      store.put(key(i), value());
    }
    KvWriter other = store.in(store.keyspace("other"));
    other.put(key(1), value());
    store.flush();
    put(store, 2 * KEYS);
    for (int i = 0; i < KEYS; i += 5) {
      store.delete(key(i));
    }
    store.compact();
    store.dropKeyspace(store.keyspace("other"));
    store.sync();
  }

  private List<Map.Entry<byte[], byte[]>> entries() {
    List<Map.Entry<byte[], byte[]>> entries = new ArrayList<>();
    for (int i = 0; i < KEYS; i += 3) {
      entries.add(Map.entry(key(i), value()));
    }
    return entries;
  }

  private static TreeMap<String, String> content(StorageEngine engine) {
    TreeMap<String, String> content = new TreeMap<>();
    KvStore store = new OpenStore(engine);
    try (KvCursor cursor = store.cursor()) {
      while (cursor.next()) {
        content.put(new String(cursor.key(), UTF_8), HexFormat.of().formatHex(cursor.value()));
      }
    }
    for (String space : store.keyspaces()) {
      content.put("keyspace " + space, "");
    }
    return content;
  }

  /** A repair of what a crash left has to end as the open of it does. */
  private static void requireSame(CrashableStorage opened, CrashableStorage repaired) {
    TreeMap<String, String> expected;
    try (StorageEngine engine = StorageEngine.open(config(opened, new ManualScheduler(2, 2)))) {
      expected = content(engine);
    }
    CrashableStorage made = new CrashableStorage();
    try (StorageEngine target = Engines.open(made, new ManualScheduler(3, 2))) {
      RepairReport result = repair(repaired, target);
      assertTrue(result.manifestUsed(), () -> "no manifest: " + result.losses());
      assertEquals(List.of(), result.uncertain());
      assertEquals(expected, content(target));
    }
  }

  private static RepairReport repair(CrashableStorage damaged, StorageEngine target) {
    return Repair.run(
        new Repair.Input(damaged, new CrashableStorage(), target, NOW_MILLIS, 16 << 10));
  }

  /** All moments of a new segment, a reclaim and a bulk load. */
  private List<CrashableStorage> moments() {
    CrashableStorage storage = new CrashableStorage();
    List<CrashableStorage> moments = new ArrayList<>();
    try (StorageEngine engine = StorageEngine.open(config(storage, scheduler))) {
      KvStore store = new OpenStore(engine);
      fill(store);
      storage.watch(moments::add);
      put(store, (int) SEGMENT_BYTES / 100);
      store.reclaim();
      store.bulkLoad(entries().iterator());
      storage.watch(null);
    }
    assertTrue(moments.size() > 100, moments.size() + " moments");
    return moments;
  }

  @Test
  void whatAPowerFailureLeavesIsRepairedByItsManifest() {
    List<CrashableStorage> moments = moments();
    Sample.ofRange(0, moments.size() - 1, STRETCHES)
        .run(
            RepairCrashTest.class,
            "whatAPowerFailureLeavesIsRepairedByItsManifest",
            MOMENTS,
            (numbers, seed) -> numbers.forEach(number -> crash(moments.get(number), number)));
  }

  private static void crash(CrashableStorage moment, int seed) {
    requireSame(moment.crashSyncedOnly(), moment.crashSyncedOnly());
    List<CrashableStorage> states = moment.crashStates(STATES, seed);
    for (int i = 0; i < states.size(); i++) {
      requireSame(states.get(i), states.get(i));
    }
  }

  @Test
  void whatAKillLeavesIsRepairedByItsManifestWithoutCurrent() {
    for (CrashableStorage moment : moments()) {
      Map<String, byte[]> files = RepairHistory.files(moment);
      files.remove(StoreFiles.CURRENT);
      requireSame(moment.crashKeepingAll(), RepairHistory.storageOf(files));
    }
  }

  @Test
  void aSegmentOfWhichTheManifestHasLostTheEditIsNoticedWhereverItIsDamaged() throws IOException {
    CrashableStorage storage = new CrashableStorage();
    Map<String, byte[]> files;
    String manifest;
    byte[] before;
    TreeMap<String, String> expected;
    try (StorageEngine engine = StorageEngine.open(config(storage, scheduler))) {
      KvStore store = new OpenStore(engine);
      store.put(key(0), value());
      manifest = manifestOf(storage);
      before = storage.contents(manifest);
      put(store, (int) SEGMENT_BYTES / 200);
      store.sync();
      files = RepairHistory.files(storage.moment());
      expected = content(engine);
    }
    assertTrue(files.containsKey(StoreFiles.segment(2)));
    assertFalse(files.containsKey(StoreFiles.segment(3)));
    // Without the mark, as if the next edit had been about to be written.
    files.put(manifest, Arrays.copyOf(before, before.length - MARK_BYTES));
    byte[] segment = Objects.requireNonNull(files.get(StoreFiles.segment(2)));
    for (int damaged : new int[] {-1, 0, 30, 50, 80}) {
      byte[] bytes = segment.clone();
      if (damaged >= 0) {
        bytes[damaged] = (byte) (bytes[damaged] ^ 1);
      }
      files.put(StoreFiles.segment(2), bytes);

      CrashableStorage made = new CrashableStorage();
      try (StorageEngine target = Engines.open(made, new ManualScheduler(3, 2))) {
        RepairReport result = repair(RepairHistory.storageOf(files), target);
        assertFalse(result.manifestUsed(), "damaged at " + damaged);
        if (damaged < 0) {
          assertEquals(expected, content(target));
          assertEquals(List.of(), result.uncertain());
        }
      }
    }
  }

  /** Entries that say when the last one was asked for. */
  private static final class Load implements Iterator<Map.Entry<byte[], byte[]>> {
    private final Iterator<Map.Entry<byte[], byte[]>> entries;
    private boolean ended;

    Load(List<Map.Entry<byte[], byte[]>> entries) {
      this.entries = entries.iterator();
    }

    @Override
    public boolean hasNext() {
      ended = !entries.hasNext();
      return !ended;
    }

    @Override
    public Map.Entry<byte[], byte[]> next() {
      return entries.next();
    }
  }

  @Test
  void withoutAManifestALoadThatMayNotHaveComeIntoForceIsNotTakenForCertain() {
    for (boolean ascending : new boolean[] {true, false}) {
      CrashableStorage storage = new CrashableStorage();
      try (StorageEngine engine =
          StorageEngine.open(Engines.config(storage, new ManualScheduler(1, 2)))) {
        KvStore store = new OpenStore(engine);
        for (int i = 0; i < KEYS; i += 2) {
          store.put(key(i), value());
        }
        store.delete(key(2));
        store.flush();
        store.put(key(0), value());
        store.put(LOGGED.getBytes(UTF_8), value());
        store.delete(key(4));
        store.sync();
        List<Map.Entry<byte[], byte[]>> entries = entries();
        if (!ascending) {
          Collections.shuffle(entries, random);
        }
        Load load = new Load(entries);
        List<CrashableStorage> moments = new ArrayList<>();
        storage.watch(
            moment -> {
              if (load.ended) {
                moments.add(moment);
              }
            });
        store.bulkLoad(load);
        storage.watch(null);
        assertTrue(moments.size() > 5, moments.size() + " moments");
        for (CrashableStorage moment : moments) {
          requireRightOrListed(truth(moment), withoutManifest(moment));
        }
        TreeMap<String, String> loaded = content(engine);
        assertEquals(loaded, requireRightOrListed(loaded, withoutManifest(storage.moment())));
        store.put(key(7), value());
        store.sync();
        requireCertain(content(engine), withoutManifest(storage.moment()));
      }
    }
  }

  /** What an open after a kill would show. */
  private static TreeMap<String, String> truth(CrashableStorage moment) {
    CrashableStorage copy = RepairHistory.storageOf(RepairHistory.files(moment));
    try (StorageEngine engine = Engines.open(copy, new ManualScheduler(2, 2))) {
      return content(engine);
    }
  }

  private static CrashableStorage withoutManifest(CrashableStorage storage) {
    Map<String, byte[]> files = RepairHistory.files(storage);
    files.keySet().removeIf(name -> name.equals(StoreFiles.CURRENT));
    files.keySet().removeIf(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST);
    return RepairHistory.storageOf(files);
  }

  /** What is not listed has to be as it was; so has a key that only the log has, listed or not. */
  private static TreeMap<String, String> requireRightOrListed(
      TreeMap<String, String> truth, CrashableStorage damaged) {
    try (StorageEngine target = Engines.open(new CrashableStorage(), new ManualScheduler(3, 2))) {
      RepairReport result = repair(damaged, target);
      TreeMap<String, String> found = content(target);
      TreeSet<String> keys = new TreeSet<>(truth.keySet());
      keys.addAll(found.keySet());
      assertEquals(truth.get(LOGGED), found.get(LOGGED), "only the log has it");
      for (RepairReport.UncertainKey listed : result.uncertain()) {
        keys.remove(new String(listed.key(), UTF_8));
      }
      for (String key : keys) {
        assertEquals(truth.get(key), found.get(key), key);
      }
      return found;
    }
  }

  private static void requireCertain(TreeMap<String, String> truth, CrashableStorage damaged) {
    try (StorageEngine target = Engines.open(new CrashableStorage(), new ManualScheduler(3, 2))) {
      RepairReport result = repair(damaged, target);
      assertEquals(truth, content(target));
      assertEquals(List.of(), result.uncertain());
    }
  }

  private static String manifestOf(CrashableStorage storage) throws IOException {
    return storage.list().stream()
        .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST)
        .findFirst()
        .orElseThrow();
  }
}
