package io.kvsep;

import static io.kvsep.GoldenContent.COUNTER;
import static io.kvsep.GoldenContent.KEYS;
import static io.kvsep.GoldenContent.LAST;
import static io.kvsep.GoldenContent.LATE;
import static io.kvsep.GoldenContent.LATE_KEYS;
import static io.kvsep.GoldenContent.LOADED;
import static io.kvsep.GoldenContent.LOADED_KEYS;
import static io.kvsep.GoldenContent.LONG;
import static io.kvsep.GoldenContent.WRITTEN;
import static io.kvsep.GoldenContent.WRITTEN_MILLIS;
import static io.kvsep.GoldenContent.expiresAtMillis;
import static io.kvsep.GoldenContent.key;
import static io.kvsep.GoldenContent.lastValue;
import static io.kvsep.GoldenContent.longValue;
import static io.kvsep.GoldenContent.value;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Writes golden stores with the present build: all kinds of files, entries and frames in a few
 * kilobytes. The history is always the same, so two runs of one build write the same files.
 *
 * <pre>
 * closed.zip     tables on several levels, blob files of reclaim and bulk load, nothing to replay
 * crashed.zip    the same after more writes, as a killed process leaves it: two segments of the
 *                log to replay; the one of 2026 has preallocated zeros after its end
 * backups.zip    a complete backup of the closed store, and one of what was written after it
 * </pre>
 */
final class GoldenStores {
  private final Path directory;
  private final ByteArrayOutputStream complete = new ByteArrayOutputStream();
  private final ByteArrayOutputStream later = new ByteArrayOutputStream();

  private GoldenStores(Path directory) {
    this.directory = directory;
  }

  static void write(Path directory) throws IOException {
    new GoldenStores(directory).write();
  }

  private void write() throws IOException {
    // The ids of keyspaces from 240 on take five bytes.
    CrashableStorage unordered = Engines.withKeyspaces(239);
    writeUnordered(unordered);
    CrashableStorage ordered = unordered.moment();
    long until = writeOrdered(ordered);
    CrashableStorage storage = ordered.moment();
    zip("closed.zip", RepairHistory.files(storage));

    KvStore store = open(config(storage, Engines.TINY, Long.MAX_VALUE));
    writeLog(store);
    zip("crashed.zip", RepairHistory.files(storage.moment()));
    store.backup(later, until);
    store.close();
    zip(
        "backups.zip",
        Map.of("complete.backup", complete.toByteArray(), "later.backup", later.toByteArray()));
  }

  /** Plain blocks; reclaim rewrites old segments. */
  private static void writeUnordered(CrashableStorage storage) {
    try (KvStore store = open(config(storage, Engines.UNPACKED, Long.MAX_VALUE))) {
      for (String keyspace : WRITTEN) {
        KvWriter view = view(store, keyspace);
        IntStream.range(0, KEYS).forEach(i -> put(view, keyspace, i * 5 % KEYS, 1));
      }
      store.put(LONG, longValue(1));
      store.flush();
      store.compact();
      for (String keyspace : WRITTEN) {
        WriteBatch batch = batch(store, keyspace);
        IntStream.range(0, KEYS).filter(i -> i % 3 == 0).forEach(i -> put(batch, keyspace, i, 2));
        store.write(batch);
      }
      store.in(store.keyspace("gone")).put(key(1), value("gone", 4, 1));
      store.dropKeyspace(store.keyspace("gone"));
      store.compact();
      store.reclaim();
    }
  }

  /** Compressed blocks, values in the order of their keys; the last tables stay in level 0. */
  private long writeOrdered(CrashableStorage storage) throws IOException {
    try (KvStore store = open(config(storage, Engines.TINY, 0))) {
      store.bulkLoad(
          store.keyspace(LOADED),
          IntStream.range(0, LOADED_KEYS)
              .mapToObj(i -> Map.entry(key(i), value(LOADED, i, 1)))
              .iterator());
      for (String keyspace : WRITTEN) {
        KvWriter view = view(store, keyspace);
        IntStream.range(0, KEYS).filter(i -> i % 5 == 1).forEach(i -> put(view, keyspace, i, 3));
        view.increment(COUNTER, 5);
      }
      store.flush();
      store.compact();
      // Keeps the versions that the next writes hide.
      try (Snapshot snapshot = store.snapshot()) {
        for (String keyspace : WRITTEN) {
          KvWriter view = view(store, keyspace);
          view.increment(COUNTER, 2);
          IntStream.range(0, KEYS).filter(i -> i % 7 == 3).forEach(i -> view.delete(key(i)));
          view.deleteRange(key(45), key(60));
          IntStream.range(53, 56).forEach(i -> put(view, keyspace, i, 4));
        }
        store.flush();
        snapshot.contains(COUNTER);
      }
      return store.backup(complete, 0);
    }
  }

  /** Frames of one record and of many, of batches and transactions, with all kinds of records. */
  private static void writeLog(KvStore store) {
    for (String keyspace : WRITTEN) {
      KvWriter view = view(store, keyspace);
      IntStream.range(0, KEYS).filter(i -> i % 4 == 2).forEach(i -> put(view, keyspace, i, 5));
    }
    store.flush();
    store.put(LONG, longValue(5));
    for (String keyspace : WRITTEN) {
      WriteBatch batch = batch(store, keyspace);
      IntStream.range(KEYS, KEYS + LATE_KEYS).forEach(i -> put(batch, keyspace, i, 5));
      store.write(batch);
      KvWriter view = view(store, keyspace);
      view.increment(COUNTER, -3);
      store.transact(
          transaction -> {
            KvWriter writes =
                keyspace.isEmpty() ? transaction : transaction.in(store.keyspace(keyspace));
            IntStream.range(0, KEYS + LATE_KEYS)
                .filter(i -> i % 13 == 4)
                .forEach(i -> writes.delete(key(i)));
            return null;
          });
      view.deleteRange(key(30), key(40));
    }
    KvWriter late = store.in(store.keyspace(LATE));
    IntStream.range(0, KEYS).forEach(i -> put(late, LATE, i, 5));
    store.put(LAST, lastValue());
  }

  private static EngineConfig config(CrashableStorage storage, Shape shape, long orderFromBytes) {
    return ConfigDraft.of(
            Engines.config(
                storage,
                CommitSync.ON_DEMAND,
                new ManualClock(WRITTEN_MILLIS),
                new Random(1),
                new ManualScheduler(1, 2)))
        .shape(shape)
        .reclaim(Engines.reclaim(new ReclaimGoal(1.05, 256, 16 << 10), orderFromBytes))
        .build();
  }

  private static KvStore open(EngineConfig config) {
    return new OpenStore(StorageEngine.open(config));
  }

  private static KvWriter view(KvStore store, String keyspace) {
    return keyspace.isEmpty() ? store : store.in(store.keyspace(keyspace));
  }

  private static WriteBatch batch(KvStore store, String keyspace) {
    WriteBatch batch = new WriteBatch();
    return keyspace.isEmpty() ? batch : batch.in(store.keyspace(keyspace));
  }

  private static void put(KvWriter view, String keyspace, int i, int round) {
    if (expiresAtMillis(i) == 0) {
      view.put(key(i), value(keyspace, i, round));
    } else {
      view.putUntil(key(i), value(keyspace, i, round), expiresAtMillis(i));
    }
  }

  private static void put(WriteBatch batch, String keyspace, int i, int round) {
    if (expiresAtMillis(i) == 0) {
      batch.put(key(i), value(keyspace, i, round));
    } else {
      batch.putUntil(key(i), value(keyspace, i, round), expiresAtMillis(i));
    }
  }

  private void zip(String name, Map<String, byte[]> files) throws IOException {
    Path path = directory.resolve(name);
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
      zip.setLevel(9);
      for (Map.Entry<String, byte[]> file : new TreeMap<>(files).entrySet()) {
        ZipEntry entry = new ZipEntry(file.getKey());
        entry.setTimeLocal(LocalDateTime.of(2026, 1, 1, 0, 0));
        zip.putNextEntry(entry);
        zip.write(file.getValue());
        zip.closeEntry();
      }
    }
  }
}
