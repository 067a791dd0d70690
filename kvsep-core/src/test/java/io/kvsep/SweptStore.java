package io.kvsep;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.concurrent.Scheduler;
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
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;

/**
 * A small store with a bit of everything, closed, as files: manifest, CURRENT and lock; segments of
 * the log and relocated files; tables in several levels, of several blocks, packed and not, with
 * deleted ranges, tombstones and expiries; values inline, in the log, compressed, empty; keyspaces,
 * one of them dropped. And what has to be found in it. Every call makes the same one, byte for
 * byte. Immutable once made.
 */
final class SweptStore {
  static final String DEFAULT = "";
  private static final long SEGMENT_BYTES = 2 << 10;
  private static final String[] SPACES = {DEFAULT, "alpha", "beta"};

  final NavigableMap<String, byte[]> files = new TreeMap<>();

  /** By the name of the keyspace, the store's own being {@link #DEFAULT}. */
  final Map<String, NavigableMap<byte[], byte[]>> contents = new TreeMap<>();

  /** Every key that was ever written, by keyspace. */
  final Map<String, NavigableMap<byte[], byte[]>> everWritten = new TreeMap<>();

  /** The salt of the value that is to be another one; -1 for none. */
  private final int swapped;

  private SweptStore(int swapped) {
    this.swapped = swapped;
    for (String space : SPACES) {
      contents.put(space, new TreeMap<>(Arrays::compareUnsigned));
      everWritten.put(space, new TreeMap<>(Arrays::compareUnsigned));
    }
  }

  static SweptStore make() {
    return make(new Random(7), -1);
  }

  /** One with other values of the same lengths under another store id, written the same way. */
  static SweptStore ofAnotherId() {
    return make(new Random(8), -1);
  }

  /**
   * The same store, with the same id, in which one of the values that lie in the log is another:
   * each of its files is as sound as those of {@link #make}.
   */
  static SweptStore withAnotherValue() {
    return make(new Random(7), 323);
  }

  private static SweptStore make(Random random, int swapped) {
    SweptStore made = new SweptStore(swapped);
    CrashableStorage storage = new CrashableStorage();
    try (KvStore store = open(storage, random, new ManualScheduler(1, 2), /* readOnly= */ false)) {
      made.fill(store);
    }
    CrashableStorage left = storage.crashSyncedOnly();
    try {
      for (String name : left.list()) {
        made.files.put(name, left.contents(name));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    made.requireEveryKind();
    return made;
  }

  static KvStore open(Storage storage, Random random, Scheduler scheduler, boolean readOnly) {
    EngineConfig base =
        Engines.config(
            storage, CommitSync.ON_DEMAND, new ManualClock(1_000_000), random, scheduler);
    EngineConfig config =
        ConfigDraft.of(base)
            .readOnly(readOnly)
            .segmentBytes(SEGMENT_BYTES)
            .reclaim(1.2, 2 << 10)
            .build();
    return new OpenStore(StorageEngine.open(config));
  }

  byte[] bytes(String name) {
    byte[] bytes = files.get(name);
    assertTrue(bytes != null, name);
    return bytes;
  }

  long totalBytes() {
    return files.values().stream().mapToLong(bytes -> bytes.length).sum();
  }

  private void fill(KvStore store) {
    store.dropKeyspace(store.keyspace("gamma"));
    for (int round = 0; round < 2; round++) {
      for (String space : SPACES) {
        for (int i = round; i < 26; i += 1 + round) {
          put(store, space, i, (round + 1) * 100 + i);
        }
      }
      store.flush();
      store.compact();
    }
    ReclaimReport report = store.reclaim();
    assertTrue(report.filesRewritten() > 0, report::toString);
    for (int i = 20; i < 32; i++) {
      put(store, "alpha", i, 300 + i);
    }
    // No job moves the older of these two tables down.
    store.flush();
    for (int i = 4; i < 26; i += 5) {
      put(store, DEFAULT, i, 400 + i);
      delete(store, "beta", i);
    }
    deleteRange(store, DEFAULT, 9, 13);
    deleteRange(store, "alpha", 2, 4);
    store.flush();
  }

  private static KvWriter writer(KvStore store, String space) {
    return space.equals(DEFAULT) ? store : store.in(store.keyspace(space));
  }

  NavigableMap<byte[], byte[]> contents(String space) {
    NavigableMap<byte[], byte[]> found = contents.get(space);
    assertTrue(found != null);
    return found;
  }

  private void put(KvStore store, String space, int number, int salt) {
    byte[] key = key(number);
    byte[] value = value(salt == swapped ? salt + 12 : salt);
    if (number % 7 == 2) {
      writer(store, space).put(key, value, Duration.ofDays(number));
    } else {
      writer(store, space).put(key, value);
    }
    contents(space).put(key, value);
    everWritten.getOrDefault(space, contents(space)).put(key, value);
  }

  private void delete(KvStore store, String space, int number) {
    writer(store, space).delete(key(number));
    contents(space).remove(key(number));
  }

  private void deleteRange(KvStore store, String space, int from, int to) {
    writer(store, space).deleteRange(key(from), key(to));
    contents(space).subMap(key(from), key(to)).clear();
  }

  private static byte[] key(int number) {
    return String.format("key-%02d", number).getBytes(UTF_8);
  }

  /** Inline, empty, in the log, compressed: by turns. Salts that differ by 12 are stored alike. */
  private static byte[] value(int salt) {
    int[] lengths = {20, 0, 90, 90, 140, 140};
    byte[] value = new byte[lengths[salt % 6]];
    new Random(salt).nextBytes(value);
    if (salt % 4 == 1) {
      Arrays.fill(value, (byte) salt);
    }
    return value;
  }

  private void requireEveryKind() {
    int tables = 0;
    int segments = 0;
    int relocated = 0;
    int severalBlocks = 0;
    for (Map.Entry<String, byte[]> file : files.entrySet()) {
      String magic = new String(file.getValue(), 0, Math.min(8, file.getValue().length), US_ASCII);
      switch (StoreFiles.kindOf(file.getKey())) {
        case TABLE -> {
          tables++;
          severalBlocks += file.getValue().length > 1_500 ? 1 : 0;
        }
        case SEGMENT -> {
          relocated += magic.equals("KVSEPREL") ? 1 : 0;
          segments += magic.equals("KVSEPLOG") ? 1 : 0;
        }
        default -> {}
      }
    }
    assertTrue(
        tables >= 3 && severalBlocks > 0 && segments >= 2 && relocated >= 1,
        tables + " tables, " + severalBlocks + ", " + segments + ", " + relocated);
    List<String> others = new ArrayList<>(files.keySet());
    others.removeIf(name -> name.endsWith(".sst") || name.endsWith(".vlog"));
    assertEquals(3, others.size(), () -> "manifest, CURRENT and LOCK: " + others);
  }
}
