package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.KvException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.repair.Repair;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** A store with a random past, what it should hold, and repairs of damaged copies of its files. */
final class RepairHistory {
  private static final String[] SPACES = {"", "a", "b"};
  private static final int KEYS = 60;

  private record Cell(byte[] value, long expiresAtMillis) {}

  /** By keyspace and key in hexadecimal digits. */
  private final TreeMap<String, Cell> model = new TreeMap<>();

  /** The name that a keyspace has where the manifest is lost, with its real one. */
  final Map<String, String> lostNames = new HashMap<>();

  private final Random random;
  private final ManualClock clock = new ManualClock(1_000_000);
  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);
  private StorageEngine engine;
  private KvStore store;
  private final boolean dropsFiles;

  /** Whether "b" was dropped once, so that what holds of a manifest may still have the old one. */
  private boolean drops;

  /**
   * @param dropsFiles whether files of the log may go
   */
  RepairHistory(Random random, boolean dropsFiles) {
    this.random = random;
    this.dropsFiles = dropsFiles;
    engine = open(storage);
    store = new OpenStore(engine);
  }

  private StorageEngine open(CrashableStorage on) {
    scheduler = new ManualScheduler(random.nextLong(), 2);
    EngineConfig config =
        dropsFiles
            ? Engines.randomConfig(
                on, CommitSync.ON_DEMAND, clock, new Random(random.nextLong()), scheduler)
            : Engines.config(
                on, CommitSync.ON_DEMAND, clock, new Random(random.nextLong()), scheduler);
    int inline = Math.min(config.values().inlineBytesMax(), 300);
    return StorageEngine.open(
        ConfigDraft.of(config)
            .inlineValueBytesMax(inline)
            .segmentBytes(dropsFiles ? config.values().segmentBytes() : 1 << 30)
            .reclaim(dropsFiles ? config.reclaim() : Reclaim.holding(100, 1 << 30))
            .build());
  }

  /** Writes for a while and leaves the files as they are, closed or killed. */
  CrashableStorage run(int steps, boolean closes) {
    for (int i = 0; i < steps; i++) {
      step();
    }
    clock.advance(20);
    for (String space : store.keyspaces()) {
      lostNames.put("keyspace-" + id(space), space);
    }
    if (closes) {
      store.close();
      return storage.crashKeepingAll();
    }
    store.sync();
    CrashableStorage left = storage.crashKeepingAll();
    try {
      store.close();
    } catch (KvException e) {
      // The process has died.
    }
    return left;
  }

  private int id(String space) {
    return engine.keyspaces().open(space);
  }

  private void step() {
    int dice = random.nextInt(1000);
    if (dice < 520) {
      put();
    } else if (dice < 640) {
      String space = space();
      byte[] key = key();
      writer(space).delete(key);
      model.remove(name(space, key));
    } else if (dice < 680) {
      deleteRange();
    } else if (dice < 690) {
      dropKeyspace();
    } else if (dice < 900) {
      scheduler.help();
    } else if (dice < 930) {
      scheduler.tick();
    } else if (dice < 960) {
      store.flush();
    } else if (dice < 975) {
      store.compact();
    } else if (dice < 985) {
      if (dropsFiles) {
        store.reclaim();
      }
    } else {
      clock.advance(random.nextInt(30));
      if (random.nextInt(4) == 0) {
        store.close();
        storage = storage.crashKeepingAll();
        engine = open(storage);
        store = new OpenStore(engine);
      }
    }
  }

  /** A put, or a batch of some in one keyspace. */
  private void put() {
    String space = space();
    WriteBatch batch = new WriteBatch();
    if (!space.isEmpty()) {
      batch.in(store.keyspace(space));
    }
    for (int i = random.nextInt(6) == 0 ? random.nextInt(1, 12) : 1; i > 0; i--) {
      byte[] key = key();
      byte[] value = new byte[random.nextInt(4) == 0 ? random.nextInt(2_000) : random.nextInt(120)];
      if (random.nextBoolean()) {
        random.nextBytes(value);
      }
      int timeToLive = random.nextInt(6) == 0 ? random.nextInt(1, 100) : 0;
      long expiry = timeToLive == 0 ? Long.MAX_VALUE : clock.millis() + timeToLive;
      if (timeToLive == 0) {
        batch.put(key, value);
      } else {
        batch.put(key, value, Duration.ofMillis(timeToLive));
      }
      model.put(name(space, key), new Cell(value, expiry));
    }
    store.write(batch);
  }

  private void deleteRange() {
    String space = space();
    byte[] from = key();
    byte[] to = key();
    if (Arrays.compareUnsigned(from, to) < 0) {
      writer(space).deleteRange(from, to);
      model.subMap(name(space, from), name(space, to)).clear();
    }
  }

  private void dropKeyspace() {
    store.dropKeyspace(store.keyspace("b"));
    drops = true;
    model.subMap("b/", "b0").clear();
  }

  private String space() {
    return SPACES[random.nextInt(SPACES.length)];
  }

  private KvWriter writer(String space) {
    return space.isEmpty() ? store : store.in(store.keyspace(space));
  }

  private byte[] key() {
    int index = random.nextInt(KEYS);
    byte[] key = new byte[2 + index % 9];
    Arrays.fill(key, (byte) 'k');
    key[0] = (byte) (index * 4);
    return key;
  }

  private static String name(String space, byte[] key) {
    return space + "/" + HexFormat.of().formatHex(key);
  }

  /** What a reader should see. */
  TreeMap<String, String> expected() {
    TreeMap<String, String> entries = new TreeMap<>();
    model.forEach(
        (name, cell) -> {
          if (cell.expiresAtMillis() > clock.millis()) {
            entries.put(name, HexFormat.of().formatHex(cell.value()));
          }
        });
    return entries;
  }

  /** What came out of a repair. */
  record Outcome(RepairReport result, TreeMap<String, String> entries, List<String> spaces) {}

  Outcome repair(CrashableStorage damaged) {
    return repair(damaged, damaged);
  }

  /**
   * As above.
   *
   * @param seen how the repair sees the files
   */
  Outcome repair(CrashableStorage damaged, Storage seen) {
    Map<String, byte[]> before = files(damaged);
    CrashableStorage made = new CrashableStorage();
    MemoryLedger ledger = new MemoryLedger();
    EngineConfig config =
        Engines.config(made, CommitSync.ON_DEMAND, clock, new Random(3), new ManualScheduler(3, 2));
    StorageEngine target = StorageEngine.open(config);
    RepairReport result;
    CrashableStorage scratch = new CrashableStorage();
    try {
      result =
          Repair.run(new Repair.Input(seen, scratch, target, ledger, clock.millis(), 16 << 10));
      KvStore read = new OpenStore(target);
      assertEquals(List.of(), read.verify().problems());
      TreeMap<String, String> entries = new TreeMap<>();
      TreeMap<String, String> dropped = new TreeMap<>();
      collect(entries, "", read);
      for (String space : read.keyspaces()) {
        boolean mayBeDropped = space.equals("b") && drops && !result.manifestUsed();
        collect(
            mayBeDropped ? dropped : entries,
            lostNames.getOrDefault(space, space),
            read.in(read.keyspace(space)));
      }
      assertEquals(entries.size() + dropped.size(), result.keys());
      return new Outcome(result, entries, read.keyspaces());
    } finally {
      target.close();
      assertEquals(0, ledger.totalBytes(), "off-heap bytes after a repair");
      assertEquals(List.of(), damaged.openFiles());
      assertEquals(List.of(), scratch.openFiles());
      assertEquals(before.keySet(), files(damaged).keySet());
      before.forEach(
          (name, bytes) -> assertEquals(-1, Arrays.mismatch(bytes, files(damaged).get(name))));
    }
  }

  private static void collect(TreeMap<String, String> entries, String space, KvReader reader) {
    try (KvCursor cursor = reader.cursor()) {
      while (cursor.next()) {
        entries.put(name(space, cursor.key()), HexFormat.of().formatHex(cursor.value()));
      }
    }
  }

  static Map<String, byte[]> files(CrashableStorage storage) {
    Map<String, byte[]> files = new TreeMap<>();
    try {
      for (String name : storage.list()) {
        if (!name.equals("LOCK")) {
          files.put(name, storage.contents(name));
        }
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return files;
  }

  static CrashableStorage storageOf(Map<String, byte[]> files) {
    CrashableStorage storage = new CrashableStorage();
    files.forEach(storage::replace);
    return storage;
  }

  /**
   * What is wrong with an outcome: each key has to be right, or listed as lost or uncertain; a key
   * that is missing may also have been in a part of a table that is lost, and any key may have been
   * written by a part of the log with unknown keys.
   */
  List<String> faults(Outcome outcome) {
    List<String> faults = new ArrayList<>();
    TreeMap<String, String> expected = expected();
    TreeMap<String, Boolean> listed = new TreeMap<>();
    boolean lostWrites = false;
    boolean lostTables = !outcome.result().notes().isEmpty();
    for (RepairReport.Loss loss : outcome.result().losses()) {
      byte[] key = loss.key();
      if (key.length > 0) {
        listed.put(name(loss.keyspace(), key), false);
      }
      lostWrites |= key.length == 0 && loss.file().endsWith(".vlog");
      lostTables |= loss.file().endsWith(".sst");
    }
    for (RepairReport.UncertainKey key : outcome.result().uncertain()) {
      String space = lostNames.getOrDefault(key.keyspace(), key.keyspace());
      listed.put(name(space, key.key()), true);
    }
    TreeMap<String, String> all = new TreeMap<>(expected);
    all.putAll(outcome.entries());
    for (String key : all.keySet()) {
      String right = expected.get(key);
      String found = outcome.entries().get(key);
      boolean told = listed.containsKey(key) || lostWrites;
      if (found == null ? !told && !lostTables : !found.equals(right) && !told) {
        faults.add(key + " is " + found + " instead of " + right);
      }
    }
    return faults;
  }
}
