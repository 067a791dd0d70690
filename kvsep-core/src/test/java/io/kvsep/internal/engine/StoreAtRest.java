package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.KvException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;

/** A small closed store, as bytes, and what may be found in it; made in some ways. */
final class StoreAtRest {
  final NavigableMap<String, byte[]> files = new TreeMap<>();

  /** The state behind each commit, the empty one first. */
  final List<NavigableMap<byte[], byte[]>> states = new ArrayList<>();

  /** Where each of the commits behind {@link #base} ends. */
  final List<Integer> ends = new ArrayList<>();

  /** The segment these are in, its length when it was synced last, and where replay begins. */
  String tail = "";

  int syncedEnd;
  int replayFrom;

  /** Index of the state that the tables hold. */
  int base;

  NavigableMap<byte[], byte[]> newest() {
    return states.get(states.size() - 1);
  }

  CrashableStorage storage() {
    CrashableStorage storage = new CrashableStorage();
    files.forEach(storage::replace);
    return storage;
  }

  static StoreAtRest closedStore() {
    CrashableStorage storage = new CrashableStorage();
    StoreAtRest fixture = new StoreAtRest();
    StorageEngine engine = open(storage);
    fill(engine, fixture, 0);
    engine.close();
    return atRest(fixture, storage.crashKeepingAll());
  }

  static StoreAtRest storeOfAnotherId() {
    CrashableStorage storage = new CrashableStorage();
    StoreAtRest fixture = new StoreAtRest();
    StorageEngine engine = StorageEngine.open(config(storage, new Random(99)));
    fill(engine, fixture, 100);
    engine.close();
    return atRest(fixture, storage.crashKeepingAll());
  }

  static StoreAtRest uncleanStore() {
    CrashableStorage storage = new CrashableStorage();
    StoreAtRest fixture = new StoreAtRest();
    StorageEngine engine = open(storage);
    fill(engine, fixture, 0);
    beginTail(fixture, storage);
    commitToTail(engine, fixture, storage, 20, 50);
    deleteRange(engine, fixture, 1, 3);
    fixture.ends.add(contents(storage, fixture.tail).length);
    commitToTail(engine, fixture, storage, 21, 150);
    commitToTail(engine, fixture, storage, 22, 90);
    engine.sync();
    fixture.syncedEnd = last(fixture.ends);
    commitToTail(engine, fixture, storage, 23, 60);
    commitToTail(engine, fixture, storage, 24, 200);
    commitToTail(engine, fixture, storage, 25, 30);
    CrashableStorage after = storage.crashKeepingAll();
    abandon(engine);
    return atRest(fixture, after);
  }

  static StoreAtRest checkpoint() throws IOException {
    CrashableStorage storage = new CrashableStorage();
    StoreAtRest fixture = new StoreAtRest();
    StorageEngine engine = open(storage);
    fill(engine, fixture, 0);
    for (int number = 20; number < 25; number++) {
      commit(engine, fixture, 0, number, 50);
    }
    engine.backups().checkpoint(Path.of("copy"));
    CrashableStorage copy = storage.detached("copy");
    engine.close();
    return atRest(fixture, copy);
  }

  /** The last commit went into a memtable of its own, when that before it was full. */
  static StoreAtRest storeThatFlushesWhileItIsWritten() {
    CrashableStorage storage = new CrashableStorage();
    StoreAtRest fixture = new StoreAtRest();
    ManualScheduler scheduler = new ManualScheduler(3, 1);
    StorageEngine engine =
        StorageEngine.open(
            ConfigDraft.of(Variant.SEPARATED.config(storage, scheduler))
                .random(new Random(7))
                .build());
    fixture.states.add(new TreeMap<>(Arrays::compareUnsigned));
    for (int number = 1; engine.stats().flushes() == 0; number++) {
      StoreAtRest before = atRest(new StoreAtRest(), storage);
      commit(engine, fixture, /* salt= */ 0, number, 50);
      for (String name : atRest(new StoreAtRest(), storage).files.keySet()) {
        int length = before.files.getOrDefault(name, new byte[Segment.EMPTY_BYTES]).length;
        if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT
            && contents(storage, name).length > length) {
          fixture.tail = name;
          fixture.replayFrom = length;
        }
      }
      scheduler.runAll();
    }
    CrashableStorage after = storage.crashKeepingAll();
    abandon(engine);
    return atRest(fixture, after);
  }

  /** As {@link #uncleanStore}, but the newest edit of the manifest is the one for the segment. */
  static StoreAtRest uncleanStoreInFreshSegment() {
    CrashableStorage storage = new CrashableStorage();
    StoreAtRest fixture = new StoreAtRest();
    StorageEngine engine = open(storage);
    fill(engine, fixture, 0);
    commit(engine, fixture, 0, 20, 3_500);
    beginTail(fixture, storage);
    commit(engine, fixture, 0, 21, 3_500);
    engine.sync();
    commit(engine, fixture, 0, 22, 50);
    CrashableStorage after = storage.crashKeepingAll();
    abandon(engine);
    fixture.tail = "";
    return atRest(fixture, after);
  }

  /** Tables in two levels, two segments, a value of each kind. */
  private static void fill(StorageEngine engine, StoreAtRest fixture, int salt) {
    fixture.states.add(new TreeMap<>(Arrays::compareUnsigned));
    commit(engine, fixture, salt, 1, 30);
    commit(engine, fixture, salt, 2, 300);
    commit(engine, fixture, 0, 3, 1_500);
    engine.flush();
    engine.compact();
    commit(engine, fixture, salt, 4, 200);
    commit(engine, fixture, salt, 5, 0);
    commit(engine, fixture, 0, 7, 1_100);
    commit(engine, fixture, 0, 9, 1_300);
    deleteRange(engine, fixture, 4, 6);
    engine.flush();
  }

  private static void deleteRange(StorageEngine engine, StoreAtRest fixture, int from, int to) {
    NavigableMap<byte[], byte[]> next = new TreeMap<>(fixture.newest());
    next.subMap(TrackedEngine.key(from), TrackedEngine.key(to)).clear();
    BatchWrites buffer = new BatchWrites();
    buffer.deleteRange(0, TrackedEngine.key(from), TrackedEngine.key(to));
    engine.writes().write(buffer, CommitSync.ON_DEMAND);
    fixture.states.add(next);
  }

  private static void beginTail(StoreAtRest fixture, CrashableStorage storage) {
    fixture.base = fixture.states.size() - 1;
    fixture.tail = newestSegment(storage);
    fixture.replayFrom = contents(storage, fixture.tail).length;
    fixture.syncedEnd = fixture.replayFrom;
  }

  private static void commitToTail(
      StorageEngine engine,
      StoreAtRest fixture,
      CrashableStorage storage,
      int number,
      int valueLength) {
    commit(engine, fixture, /* salt= */ 0, number, valueLength);
    assertEquals(fixture.tail, newestSegment(storage));
    fixture.ends.add(contents(storage, fixture.tail).length);
  }

  /** Puts a key of its own, and one that all commits have in common; the salt changes values. */
  private static void commit(
      StorageEngine engine, StoreAtRest fixture, int salt, int number, int valueLength) {
    NavigableMap<byte[], byte[]> next = new TreeMap<>(fixture.newest());
    BatchWrites buffer = new BatchWrites();
    for (int key : new int[] {number, 0}) {
      int length = key == 0 ? 20 + number : valueLength;
      byte[] value = TrackedEngine.value(number + salt, length);
      buffer.put(0, TrackedEngine.key(key), value, 0);
      next.put(TrackedEngine.key(key), value);
    }
    engine.writes().write(buffer, CommitSync.ON_DEMAND);
    fixture.states.add(next);
  }

  private static StoreAtRest atRest(StoreAtRest fixture, CrashableStorage storage) {
    try {
      for (String name : storage.list()) {
        if (StoreFiles.kindOf(name) != StoreFiles.Kind.LOCK) {
          fixture.files.put(name, storage.contents(name));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return fixture;
  }

  static StorageEngine open(CrashableStorage storage) {
    return StorageEngine.open(config(storage, new Random(7)));
  }

  private static EngineConfig config(CrashableStorage storage, Random random) {
    EngineConfig config = Variant.SEPARATED.config(storage, new ManualScheduler(3, 1));
    return ConfigDraft.of(config).random(random).build();
  }

  private static void abandon(StorageEngine engine) {
    try {
      engine.close();
    } catch (KvException e) {
      // Its storage has crashed.
    }
  }

  private static String newestSegment(CrashableStorage storage) {
    try {
      String newest = "";
      for (String name : storage.list()) {
        if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT) {
          newest = name;
        }
      }
      return newest;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static byte[] contents(CrashableStorage storage, String name) {
    try {
      return storage.contents(name);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int last(List<Integer> list) {
    return list.get(list.size() - 1);
  }
}
