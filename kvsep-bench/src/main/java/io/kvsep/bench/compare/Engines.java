package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.List;

/** Names of the engines. */
final class Engines {
  /** Engines that {@link CompareChild} runs. */
  static final List<String> JAVA =
      List.of(
          "kvsep",
          "kvsep-unverified",
          "rocksdb",
          "rocksdb-blob",
          "lmdb",
          "lmdb-writemap",
          "mvstore",
          "xodus");

  /** Engines of the program in kvsep-bench/go. */
  static final List<String> GO = List.of("badger", "bbolt");

  private Engines() {}

  static Engine open(String name, EngineOptions options) {
    try {
      Files.createDirectories(options.directory());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return switch (name) {
      case "kvsep" -> new KvsepEngine(options, /* verifyValues= */ true);
      case "kvsep-unverified" -> new KvsepEngine(options, /* verifyValues= */ false);
      case "rocksdb" -> new RocksEngine(options, /* blobs= */ false);
      case "rocksdb-blob" -> new RocksEngine(options, /* blobs= */ true);
      case "lmdb" -> new LmdbEngine(options, /* writeMap= */ false);
      case "lmdb-writemap" -> new LmdbEngine(options, /* writeMap= */ true);
      case "mvstore" -> new MvStoreEngine(options);
      case "xodus" -> new XodusEngine(options);
      default -> throw new UsageException("unknown engine: " + name);
    };
  }

  static boolean isOurs(String name) {
    return name.startsWith("kvsep");
  }

  /** Whether it is kvsep with other than default options, which is compared only on request. */
  static boolean isVariant(String name) {
    return isOurs(name) && !name.equals("kvsep");
  }

  /** Whether background work goes on after a flush has finished. */
  static boolean worksInBackground(String name) {
    return isOurs(name) || name.startsWith("rocksdb");
  }

  /** Whether the engine keeps its pages on the heap, which must then be larger by the cache. */
  static boolean isOnHeap(String name) {
    return name.equals("mvstore") || name.equals("xodus");
  }
}
