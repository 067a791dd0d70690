package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/**
 * Names of the engines and of their rows. An engine has a main row, with its default options, and a
 * tuned row beside it.
 */
final class Engines {
  /** Engines that {@link CompareChild} runs. */
  static final List<String> JAVA =
      List.of("kvsep", "rocksdb", "rocksdb-blob", "lmdb", "mvstore", "xodus");

  /** Engines of the program in kvsep-bench/go. */
  static final List<String> GO = List.of("badger", "bbolt");

  private static final String TUNED = "-tuned";

  /** kvsep without verification of value checksums, which is compared only on request. */
  private static final String UNVERIFIED = "kvsep-unverified";

  private Engines() {}

  /** All rows, each tuned one after its main row, and at the end what runs only on request. */
  static List<String> rows() {
    List<String> rows = usualRows();
    rows.add(UNVERIFIED);
    return rows;
  }

  static List<String> usualRows() {
    List<String> rows = new ArrayList<>();
    for (List<String> engines : List.of(JAVA, GO)) {
      for (String engine : engines) {
        rows.add(engine);
        rows.add(tunedRow(engine));
      }
    }
    return rows;
  }

  static boolean isTuned(String row) {
    return row.endsWith(TUNED);
  }

  static String tunedRow(String mainRow) {
    return mainRow + TUNED;
  }

  /** The main row beside a tuned one; every other row stands alone. */
  static String mainRow(String row) {
    return isTuned(row) ? row.substring(0, row.length() - TUNED.length()) : row;
  }

  static String engine(String row) {
    return row.equals(UNVERIFIED) ? "kvsep" : mainRow(row);
  }

  static boolean isGo(String row) {
    return GO.contains(engine(row));
  }

  static boolean isOurs(String row) {
    return engine(row).equals("kvsep");
  }

  /** Whether the engine reports background work, which goes on after a flush has finished. */
  static boolean worksInBackground(String engine) {
    return engine.equals("kvsep") || engine.startsWith("rocksdb");
  }

  /** Whether the engine keeps its pages on the heap, which must then be larger by the cache. */
  static boolean isOnHeap(String row) {
    return engine(row).equals("mvstore") || engine(row).equals("xodus");
  }

  /**
   * Options of a row other than the engine's defaults; none in a main row.
   *
   * @param inMemory whether the data fits memory well
   */
  static Tuning tuning(String row, boolean inMemory) {
    String rocks =
        "rocksdb.clock_cache=true,rocksdb.bloom=10,rocksdb.pin_l0=true,rocksdb.memtables=4,"
            + "rocksdb.bytes_per_sync=1048576,rocksdb.compression=none"
            + (inMemory ? ",rocksdb.mmap=true" : "");
    return Tuning.parse(
        switch (row) {
          case "kvsep-tuned" -> "kvsep.compression=none";
          case UNVERIFIED -> "kvsep.verify_values=false";
          case "rocksdb-tuned" -> rocks;
          case "rocksdb-blob-tuned" -> rocks + ",rocksdb.blob_from=257,rocksdb.blob_gc=true";
          case "lmdb-tuned" ->
              "lmdb.write_map=true,lmdb.checks=false" + (inMemory ? "" : ",lmdb.read_ahead=false");
          case "mvstore-tuned" -> "mvstore.retention=0";
          case "xodus-tuned" -> "xodus.prefixing=true,xodus.cache_shared=false,xodus.jmx=false";
          case "badger-tuned" ->
              "badger.value_threshold=256,badger.compression=0,badger.block_cache_mib=0,"
                  + "badger.detect_conflicts=0,badger.compact_on_close=1,badger.metrics=0,"
                  + (inMemory ? "badger.prefetch=0" : "badger.procs=128");
          case "bbolt-tuned" ->
              "bbolt.freelist_map=1,bbolt.freelist_sync=0,bbolt.mmap_gib=256,bbolt.statistics=0,"
                  + "bbolt.batch=16,bbolt.batch_delay_us=1000";
          default -> "";
        });
  }

  static Engine open(String name, EngineOptions options) {
    try {
      Files.createDirectories(options.directory());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return switch (name) {
      case "kvsep" -> new KvsepEngine(options);
      case "rocksdb" -> new RocksEngine(options, /* blobs= */ false);
      case "rocksdb-blob" -> new RocksEngine(options, /* blobs= */ true);
      case "lmdb" -> new LmdbEngine(options);
      case "mvstore" -> new MvStoreEngine(options);
      case "xodus" -> new XodusEngine(options);
      default -> throw new UsageException("unknown engine: " + name);
    };
  }
}
