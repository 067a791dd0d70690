package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.error.KvException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A store with a random past, as files that no process has open: closed, left by a crash, a
 * checkpoint, or restored from a backup; with what it held after each commit, and its files at some
 * times before. Values of all kinds, keyspaces that come and go, deleted ranges, expiries, bulk
 * loads, compaction and reclaim. Immutable once made.
 */
final class DrawnStore {
  private static final String[] SPACES = {"", "alpha", "beta", "gamma"};
  private static final Duration LONG = Duration.ofDays(11);

  /** How it was left. */
  enum End {
    CLOSED,
    KILLED,
    CHECKPOINT,
    RESTORED
  }

  private record Cell(byte[] value, long expiresAtMillis) {}

  final End end;
  final Map<String, byte[]> files;

  /** Its files at some times before, none where they are of another store. */
  final List<Map<String, byte[]>> older = new ArrayList<>();

  /** What can be read of each state it was in, the newest last, by {@code keyspace/key}. */
  final List<Map<String, byte[]>> states = new ArrayList<>();

  /** Whatever was written, by name. */
  final Set<String> names = new TreeSet<>();

  /** The oldest state that may be found: the manifest knows of it. */
  final int durable;

  /** Whether there are entries that are in no log, where an edit of the manifest is lost. */
  final boolean bulkLoaded;

  private final Random random;
  private final ManualClock clock = new ManualClock(1_000_000);
  private final int inlineValueBytesMax;
  private final int compressionBytesMin;
  private final long segmentBytes;
  private final boolean packsBlocks;
  private final int keyCount;
  private final int longest;

  private final TreeMap<String, Cell> current = new TreeMap<>();
  private final List<TreeMap<String, Cell>> past = new ArrayList<>(List.of(new TreeMap<>()));
  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler;
  private KvStore store;
  private int flushed;
  private boolean loaded;

  DrawnStore(long seed) throws IOException {
    random = new Random(seed);
    inlineValueBytesMax = new int[] {0, 16, 64, 64, 300, 2_000}[random.nextInt(6)];
    compressionBytesMin = new int[] {64, 256, Integer.MAX_VALUE}[random.nextInt(3)];
    segmentBytes = (4L << 10) << random.nextInt(5);
    packsBlocks = random.nextBoolean();
    keyCount = 10 + random.nextInt(50);
    longest = random.nextInt(4) == 0 ? 60_000 : 6_000;
    end = End.values()[random.nextInt(4)];
    open();
    // Behind these there is only what lies in the log.
    int steps = 15 + random.nextInt(150);
    int settling = random.nextBoolean() ? steps : steps * 2 / 3;
    for (int i = 0; i < steps; i++) {
      step(i < settling);
      if (i > 5 && random.nextInt(12) == 0) {
        scheduler.runAll();
        older.add(files(storage));
      }
    }
    scheduler.runAll();
    clock.advance(random.nextInt(400));
    files = finish();
    durable = end == End.KILLED ? flushed : past.size() - 1;
    bulkLoaded = loaded;
    for (TreeMap<String, Cell> state : past) {
      states.add(visible(state));
    }
  }

  private void open() {
    scheduler = new ManualScheduler(random.nextLong(), 2);
    Random ids = new Random(random.nextLong());
    store = new OpenStore(StorageEngine.open(config(storage, scheduler, ids, false)));
  }

  /** The limits that it was made with. */
  EngineConfig config(Storage on, ManualScheduler work, Random ids, boolean readOnly) {
    EngineConfig base = Engines.config(on, CommitSync.ON_DEMAND, clock, ids, work);
    return ConfigDraft.of(base)
        .readOnly(readOnly)
        .inlineValueBytesMax(inlineValueBytesMax)
        .compressionBytesMin(compressionBytesMin)
        .segmentBytes(segmentBytes)
        .shape(packsBlocks ? Engines.TINY : Engines.UNPACKED)
        .reclaim(1.2, 4 << 10)
        .build();
  }

  long nowMillis() {
    return clock.millis();
  }

  Map<String, byte[]> newest() {
    return states.get(states.size() - 1);
  }

  private Map<String, byte[]> finish() throws IOException {
    switch (end) {
      case KILLED -> {
        Map<String, byte[]> left = files(storage);
        abandon();
        return left;
      }
      case CHECKPOINT -> {
        store.checkpoint(Path.of("copy"));
        Map<String, byte[]> copy = files(storage.detached("copy"));
        store.close();
        return copy;
      }
      case RESTORED -> restore();
      case CLOSED -> {}
    }
    store.close();
    return files(storage);
  }

  private void abandon() {
    storage.freeze();
    try {
      store.close();
    } catch (KvException e) {
      // The process has died.
    }
  }

  /** Goes on as another store with the same contents. */
  private void restore() throws IOException {
    ByteArrayOutputStream backup = new ByteArrayOutputStream();
    store.backup(backup, 0);
    store.close();
    storage = new CrashableStorage();
    open();
    store.restore(new ByteArrayInputStream(backup.toByteArray()));
    older.clear();
    past.subList(0, past.size() - 1).clear();
    loaded = true;
  }

  static Map<String, byte[]> files(CrashableStorage storage) {
    Map<String, byte[]> files = new TreeMap<>();
    // Also of one that was closed.
    CrashableStorage now = storage.moment();
    try {
      for (String name : now.list()) {
        if (StoreFiles.kindOf(name) != StoreFiles.Kind.LOCK) {
          files.put(name, now.contents(name));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return files;
  }

  private Map<String, byte[]> visible(TreeMap<String, Cell> state) {
    Map<String, byte[]> visible = new TreeMap<>();
    state.forEach(
        (name, cell) -> {
          if (cell.expiresAtMillis() > clock.millis()) {
            visible.put(name, cell.value());
          }
        });
    return visible;
  }

  private void committed() {
    past.add(new TreeMap<>(current));
  }

  private void flushed() {
    flushed = past.size() - 1;
  }

  private void step(boolean settles) throws IOException {
    int dice = random.nextInt(100);
    if (dice < 52) {
      put();
    } else if (dice < 62) {
      delete(dice < 58);
    } else if (dice < 72) {
      batch();
    } else if (dice < 88) {
      if (settles) {
        settle(dice);
      }
    } else if (dice < 91) {
      store.sync();
    } else if (dice < 93) {
      scheduler.tick();
      scheduler.runAll();
    } else if (dice < 95) {
      clock.advance(100);
    } else if (dice < 98) {
      bulkLoad();
    } else {
      dropKeyspace();
    }
  }

  private void settle(int dice) {
    if (dice < 82) {
      store.flush();
    } else if (dice < 85) {
      store.compact();
    } else {
      store.reclaim();
    }
    flushed();
  }

  /** The default one half of the time, and one that is not there yet more rarely. */
  private String space() {
    String drawn = SPACES[random.nextInt(SPACES.length)];
    boolean known = drawn.isEmpty() || store.keyspaces().contains(drawn);
    return random.nextBoolean() || (!known && random.nextInt(3) != 0) ? "" : drawn;
  }

  private KvWriter writer(String space) {
    return space.isEmpty() ? store : store.in(store.keyspace(space));
  }

  private String key() {
    int number = random.nextInt(keyCount);
    String tail = number % 5 == 0 ? "-with-a-longer-tail-" + number * number : "";
    return String.format("key-%03d", number) + tail;
  }

  private byte[] value(int lengthMax) {
    int dice = random.nextInt(100);
    int length;
    if (dice < 10) {
      length = 0;
    } else if (dice < 40) {
      length = 1 + random.nextInt(60);
    } else if (dice < 75) {
      length = 60 + random.nextInt(400);
    } else if (dice < 95) {
      length = 400 + random.nextInt(3_000);
    } else {
      length = 3_000 + random.nextInt(longest);
    }
    byte[] value = new byte[Math.min(length, lengthMax)];
    if (random.nextInt(3) == 0) {
      random.nextBytes(value);
    } else {
      byte[] pattern = new byte[1 + random.nextInt(20)];
      random.nextBytes(pattern);
      for (int i = 0; i < value.length; i++) {
        value[i] = pattern[i % pattern.length];
      }
    }
    return value;
  }

  private void hold(String space, String key, byte[] value, long expiresAtMillis) {
    current.put(space + "/" + key, new Cell(value, expiresAtMillis));
    names.add(space + "/" + key);
  }

  private void put() {
    String space = space();
    String key = key();
    byte[] value = value(Integer.MAX_VALUE);
    if (random.nextInt(8) > 0) {
      writer(space).put(key.getBytes(UTF_8), value);
      hold(space, key, value, Long.MAX_VALUE);
    } else {
      Duration life = random.nextBoolean() ? Duration.ofMillis(1 + random.nextInt(500)) : LONG;
      writer(space).put(key.getBytes(UTF_8), value, life);
      hold(space, key, value, clock.millis() + life.toMillis());
    }
    committed();
  }

  private void delete(boolean one) {
    String space = space();
    String from = key();
    String to = key();
    if (one) {
      writer(space).delete(from.getBytes(UTF_8));
      current.remove(space + "/" + from);
    } else if (from.compareTo(to) < 0) {
      writer(space).deleteRange(from.getBytes(UTF_8), to.getBytes(UTF_8));
      current.subMap(space + "/" + from, space + "/" + to).clear();
    }
    committed();
  }

  private void batch() {
    WriteBatch batch = new WriteBatch();
    for (int i = random.nextInt(30); i >= -1; i--) {
      String key = key();
      byte[] value = value(400);
      batch.put(key.getBytes(UTF_8), value);
      hold("", key, value, Long.MAX_VALUE);
    }
    store.write(batch);
    committed();
  }

  private void bulkLoad() {
    String space = space();
    TreeMap<byte[], byte[]> entries = new TreeMap<>(Arrays::compareUnsigned);
    for (int i = random.nextInt(20); i >= -1; i--) {
      String key = key();
      byte[] value = value(3_000);
      entries.put(key.getBytes(UTF_8), value);
      hold(space, key, value, Long.MAX_VALUE);
    }
    if (space.isEmpty()) {
      store.bulkLoad(entries.entrySet().iterator());
    } else {
      store.bulkLoad(store.keyspace(space), entries.entrySet().iterator());
    }
    committed();
    flushed();
    loaded = true;
  }

  private void dropKeyspace() {
    List<String> there = store.keyspaces();
    if (!there.isEmpty()) {
      String space = there.get(random.nextInt(there.size()));
      store.dropKeyspace(store.keyspace(space));
      current.subMap(space + "/", space + "0").clear();
      committed();
    }
  }
}
