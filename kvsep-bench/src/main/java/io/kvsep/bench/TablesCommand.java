package io.kvsep.bench;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Host;
import io.kvsep.internal.config.EngineConfig.OpenMode;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.config.EngineConfig.Sync;
import io.kvsep.internal.config.EngineConfig.Values;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.FileStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Measures the cost of a store with very many tables: builds one with tables so short that a small
 * disk holds tens of thousands, opens it normally, reads random keys, and reports what the process
 * holds. Fails if the number of tables is not the requested one or a value is wrong.
 */
final class TablesCommand {
  /** Large enough that a table's fixed parts do not decide when it ends. */
  private static final int ENTRIES_PER_TABLE = 16;

  // Shorter values are too short to end a table at a certain one; longer ones are stored in the
  // log.
  private static final int VALUE_BYTES_MIN = 128;
  private static final int VALUE_BYTES_MAX = 256;

  private static final int BATCH_COUNT = 1000;
  private static final int SEED = 21_040;

  private final Dataset dataset;
  private final int tables;
  private final long gets;
  private final Figures figures = new Figures(System.out);

  private TablesCommand(Dataset dataset, int tables, long gets) {
    this.dataset = dataset;
    this.tables = tables;
    this.gets = gets;
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    int tables = arguments.count("tables", 21_040, 1, 1_000_000);
    long gets = arguments.number("gets", 1_000_000, 1, Dataset.ENTRIES_MAX);
    StoreArguments store = StoreArguments.forNew(arguments, "none");
    arguments.requireAllUsed();
    Dataset dataset = new Dataset((long) tables * ENTRIES_PER_TABLE, store.valueBytes());
    if (dataset.valueBytes() < VALUE_BYTES_MIN || dataset.valueBytes() > VALUE_BYTES_MAX) {
      throw new UsageException(
          "--value-bytes must be from " + VALUE_BYTES_MIN + " to " + VALUE_BYTES_MAX + " here");
    }
    TablesCommand command = new TablesCommand(dataset, tables, gets);
    store.runInNew(
        directory -> {
          command.build(directory);
          command.read(directory, store.options());
        });
  }

  /** Writes ascending keys and compacts them into the last level, as tables of a few entries. */
  private void build(Path directory) {
    figures.count("entries", dataset.entryCount());
    figures.count("value bytes", dataset.valueBytes());
    byte[] key = dataset.newKey();
    byte[] value = new byte[dataset.valueBytes()];
    long start = System.nanoTime();
    try (StorageEngine engine = StorageEngine.open(config(directory));
        Progress progress = new Progress("build", dataset.entryCount(), System.err)) {
      for (long ordinal = 0; ordinal < dataset.entryCount(); ordinal++) {
        dataset.putKey(ordinal, key);
        dataset.putValue(ordinal, value);
        engine.writes().put(0, key, value, 0);
        if (ordinal % BATCH_COUNT == 0) {
          progress.update(ordinal);
        }
      }
      engine.compact();
    }
    figures.seconds("build", System.nanoTime() - start);
  }

  private EngineConfig config(Path directory) {
    KvOptions usual = KvOptions.defaults();
    Shape usualShape = Shape.forBudget(usual.memoryBudgetBytes(), /* packsBlocks= */ false);
    // A table ends at the first key past this length, so the limit is half an entry lower.
    long tableBytes = fixedBytes() + entryBytes() * (2 * ENTRIES_PER_TABLE - 1) / 2;
    Shape.Tables tables =
        new Shape.Tables(
            usualShape.tables().levelBaseBytes(),
            tableBytes,
            usualShape.tables().blockBytes(),
            /* packsBlocks= */ false);
    // Everything is merged once, at the end.
    Shape.LevelZero levelZero =
        new Shape.LevelZero(Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE);
    Shape shape =
        new Shape(
            usualShape.memtables(),
            usualShape.log(),
            usualShape.commits(),
            levelZero,
            tables,
            usualShape.caches(),
            usualShape.loadRoom());
    try {
      return new EngineConfig(
          new FileStorage(directory, /* createIfMissing= */ true),
          new OpenMode(/* readOnly= */ false, /* createIfMissing= */ true, /* exclusive= */ true),
          new Sync(CommitSync.ON_DEMAND, /* intervalNanos= */ 0),
          new Values(
              usual.segmentBytes(),
              dataset.valueBytes(),
              /* inlineBytesMaxIfLarge= */ dataset.valueBytes(),
              /* largeFromBytes= */ Long.MAX_VALUE,
              /* compressionBytesMin= */ Integer.MAX_VALUE,
              /* areVerified= */ true),
          shape,
          Reclaim.holding(usual.spaceAmplificationMax(), usual.segmentBytes()),
          new Host(
              Clock.systemUTC(),
              Ticker.system(),
              new SplittableRandom(SEED),
              new ThreadScheduler(2)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Header, footer, filter and index of such a short table. */
  private static long fixedBytes() {
    return 230;
  }

  private long entryBytes() {
    return dataset.valueBytes() + 12L;
  }

  private void read(Path directory, KvOptions options) {
    byte[] key = dataset.newKey();
    SplittableRandom random = new SplittableRandom(SEED);
    // Loads classes and caches file names before anything is measured.
    KvStore.open(directory, options).close();
    long heapBefore = heapBytes();
    long start = System.nanoTime();
    try (KvStore store = KvStore.open(directory, options)) {
      figures.seconds("open", System.nanoTime() - start);
      requireTables(store.stats());
      process("opened", heapBefore, store.stats());
      start = System.nanoTime();
      try (Progress progress = new Progress("get", gets, System.err)) {
        for (long i = 0; i < gets; i++) {
          long ordinal = random.nextLong(dataset.entryCount());
          dataset.putKey(ordinal, key);
          byte[] value = store.get(key);
          if (value == null || !dataset.isValue(ordinal, value)) {
            throw new FailedMeasurementException("entry " + ordinal + " is missing or wrong");
          }
          if ((i & 1023) == 0) {
            progress.update(i);
          }
        }
      }
      long nanos = System.nanoTime() - start;
      figures.rate("get", gets, gets * dataset.valueBytes(), nanos);
      process("read", heapBefore, store.stats());
    }
    figures.count("mappings, closed", ProcessFigures.mappings());
  }

  private void requireTables(StoreStats stats) {
    int live = stats.levels().stream().mapToInt(StoreStats.Level::tables).sum();
    figures.count("tables", live);
    figures.text(
        "tables by level",
        Arrays.toString(stats.levels().stream().mapToInt(StoreStats.Level::tables).toArray()));
    if (live != tables) {
      throw new FailedMeasurementException("the store has " + live + " tables");
    }
  }

  private void process(String moment, long heapBefore, StoreStats stats) {
    long heap = heapBytes();
    figures.mebibytes("heap, " + moment, heap);
    figures.mebibytes("heap of the store, " + moment, heap - heapBefore);
    for (Map.Entry<String, Long> use : new TreeMap<>(stats.memoryBytes()).entrySet()) {
      figures.mebibytes("off-heap " + use.getKey() + ", " + moment, use.getValue());
    }
    figures.count("mappings, " + moment, ProcessFigures.mappings());
    figures.count("open files, " + moment, ProcessFigures.openFiles());
  }

  /** Heap used after collection. */
  @SuppressWarnings("ExplicitGC") // The figure is what remains after collection.
  private static long heapBytes() {
    System.gc();
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
