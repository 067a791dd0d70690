package io.kvsep;

import io.kvsep.error.StorageException;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.OpenMode;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.repair.ReadableFiles;
import io.kvsep.internal.repair.Repair;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Repairs a store into another directory. Builds the new store in a sibling of the target. */
final class StoreRepair {
  private static final String SUFFIX = ".repair";
  private static final String STORE = "store";
  private static final String RUNS = "runs";
  private static final String COPIES = "copies";

  /** Each of two sorters gets one of them, up to a limit, and the new store the rest. */
  private static final int BUDGET_PARTS = 8;

  private static final long SORT_BYTES_MAX = 64 << 20;

  private StoreRepair() {}

  static RepairReport run(Path damaged, Path target, KvOptions options) {
    Objects.requireNonNull(damaged, "damaged");
    Objects.requireNonNull(target, "target");
    Objects.requireNonNull(options, "options");
    try (FileStorage source = new FileStorage(damaged, /* createIfMissing= */ false);
        StorageLock lock = lock(source)) {
      Path place = realPlace(target.toAbsolutePath().normalize());
      return run(source, requirePlace(damaged.toRealPath(), place), options);
    } catch (IOException e) {
      throw new StorageException("cannot repair " + damaged + " into " + target, e);
    }
  }

  /**
   * As {@link KvStore#repair}.
   *
   * @param source locked by the caller
   * @param place empty or absent
   */
  static RepairReport run(Storage source, Path place, KvOptions options) throws IOException {
    List<Path> made = FileStorage.createDirectories(place.resolveSibling(""));
    try {
      return runBeside(source, place, options);
    } finally {
      // Deletes only empty ones, which exist if no new store was made.
      FileStorage.deleteDirectories(made);
    }
  }

  private static RepairReport runBeside(Storage source, Path place, KvOptions options)
      throws IOException {
    long start = Ticker.system().nanos();
    Path work = place.resolveSibling(place.getFileName() + SUFFIX);
    try {
      Files.createDirectory(work);
    } catch (FileAlreadyExistsException e) {
      String why = "an interrupted repair left it, delete it first";
      throw new FileSystemException(work.toString(), null, why);
    }
    RepairReport report;
    boolean whole = false;
    try {
      requireReplaceable(place);
      try {
        report = repair(source, List.of(), work, options, start);
      } catch (StorageException e) {
        report = repairReadable(source, work, options, start, e);
      }
      // If the directory is gone, files that could not be opened would count as damaged.
      source.checkDirectory();
      deleteTree(work.resolve(RUNS));
      deleteTree(work.resolve(COPIES));
      whole = true;
    } finally {
      if (!whole) {
        deleteTree(work);
      }
    }
    moveTo(work.resolve(STORE), place);
    deleteTree(work);
    return report;
  }

  /** Fails early where the final move would fail, such as at a mount point. */
  private static void requireReplaceable(Path place) {
    try {
      if (Files.deleteIfExists(place)) {
        Files.createDirectory(place);
      }
    } catch (IOException e) {
      throw new StorageException(
          place + " cannot be replaced by the new store: name a directory in it, or another", e);
    }
  }

  /**
   * Second attempt on copies of the readable parts, if some files are unreadable. Only then are
   * files read twice.
   *
   * @param failure the error of the first attempt
   */
  private static RepairReport repairReadable(
      Storage source, Path work, KvOptions options, long start, StorageException failure)
      throws IOException {
    deleteTree(work);
    Files.createDirectory(work);
    try (FileStorage copies = new FileStorage(work.resolve(COPIES), true)) {
      ReadableFiles readable = ReadableFiles.of(source, copies);
      if (readable.isWhole()) {
        throw failure;
      }
      return repair(readable, readable.notes(), work, options, start);
    }
  }

  /** Creating a lock file would change the directory; a writer would have created it. */
  static StorageLock lock(FileStorage source) throws IOException {
    return source.exists(StoreFiles.LOCK)
        ? source.lock(StoreFiles.LOCK, /* shared= */ true)
        : () -> {};
  }

  /** The resolved path of a file that exists or will be created. */
  static Path realPlace(Path path) throws IOException {
    Path parent = path.getParent();
    if (parent == null || Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return path.toRealPath();
    }
    return realPlace(parent).resolve(parent.relativize(path));
  }

  private static Path requirePlace(Path damaged, Path target) throws IOException {
    if (target.startsWith(damaged) || damaged.startsWith(target)) {
      throw new IllegalArgumentException(target + " is not apart from " + damaged);
    }
    if (Files.exists(target)) {
      try (Stream<Path> entries = Files.list(target)) {
        if (entries.findAny().isPresent()) {
          throw new DirectoryNotEmptyException(target.toString());
        }
      }
    }
    return target;
  }

  /**
   * @param notes precede the notes of the repair
   * @param start start of the call, including a first attempt
   */
  private static RepairReport repair(
      Storage source, List<String> notes, Path work, KvOptions options, long start)
      throws IOException {
    long budget = options.memoryBudgetBytes();
    long sortBytes = Math.min(SORT_BYTES_MAX, budget / BUDGET_PARTS);
    Instant now = Instant.ofEpochMilli(options.clock().millis());
    KvResources resources =
        KvResources.ofOneStore(budget - 2 * sortBytes, options.backgroundThreads());
    EngineConfig config =
        OpenStore.config(
            new FileStorage(work.resolve(STORE), true),
            options,
            // Mode of the new store, not of the damaged one.
            new OpenMode(
                /* readOnly= */ false, /* createIfMissing= */ true, /* exclusive= */ false),
            Clock.fixed(now, ZoneOffset.UTC),
            resources);
    try (StorageEngine engine = StorageEngine.open(config, resources.memory());
        FileStorage scratch = new FileStorage(work.resolve(RUNS), true)) {
      return Repair.run(
          new Repair.Input(source, scratch, engine, now.toEpochMilli(), sortBytes),
          notes,
          () -> Ticker.system().nanos() - start);
    }
  }

  /** Keeps the new store on failure, because building it may have taken hours. */
  private static void moveTo(Path made, Path place) {
    try {
      Files.deleteIfExists(place);
      Files.move(made, place, StandardCopyOption.ATOMIC_MOVE);
      try (FileStorage parent = new FileStorage(place.resolveSibling(""), false)) {
        parent.syncDirectory();
      }
    } catch (IOException e) {
      Path there = Files.exists(made) ? made : place;
      throw new StorageException(
          "the new store is whole in " + there + ", but was not safely moved to " + place, e);
    }
  }

  /** Deletes what repair created; files that cannot be deleted are left. */
  private static void deleteTree(Path work) {
    try (Stream<Path> entries = Files.walk(work)) {
      for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(entry);
      }
    } catch (IOException | UncheckedIOException e) {
      return;
    }
  }
}
