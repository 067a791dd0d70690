package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.Storage;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Everything at once on one store, with limits so tiny that memtables, tables and segments come and
 * go all the time: writers, readers, work that is asked for, keyspaces that are made and dropped.
 * In the middle of it the store is closed, opened with other limits, checked at rest, and used
 * again.
 */
final class StressRun {
  private static final long SYNC_INTERVAL_NANOS = 20_000_000;
  private static final int INLINE_BYTES_MAX = 4 << 10;

  private static final CommitSync[] SYNCS = {
    CommitSync.ON_DEMAND,
    CommitSync.INTERVAL,
    CommitSync.ON_DEMAND,
    CommitSync.EVERY_COMMIT,
    CommitSync.INTERVAL
  };

  /** Work that a thread asks for beside all others, how often against the rest of it. */
  private record Chore(String name, int weight, Consumer<KvStore> work) {}

  private static final List<Chore> CHORES =
      List.of(
          new Chore("flush calls", 12, KvStore::flush),
          new Chore("compact calls", 2, KvStore::compact),
          new Chore("reclaim calls", 2, KvStore::reclaim),
          new Chore("verify calls", 2, StressRun::verify),
          new Chore("sync calls", 5, KvStore::sync),
          new Chore("stats calls", 5, KvStore::stats));

  private final Supplier<Storage> disk;
  private final Random random;
  private final StressModel model = new StressModel();
  private final StressKeyspaces keyspaces;
  private final List<StressWriter> writers = new ArrayList<>();
  private final List<StressReader> readers = new ArrayList<>();
  private final List<Chore> drawn = new ArrayList<>();
  private int openings;

  /** Each opening takes a storage from {@code disk}, with what the one before left. */
  StressRun(Supplier<Storage> disk, long seed) {
    this.disk = disk;
    random = new Random(seed);
    keyspaces = new StressKeyspaces(model, random.nextLong());
    for (int i = 0; i < StressModel.WRITERS; i++) {
      writers.add(new StressWriter(model, i, random.nextLong()));
    }
    for (int i = 0; i <= StressModel.OPENER; i++) {
      readers.add(new StressReader(model, i, random.nextLong()));
    }
    for (Chore chore : CHORES) {
      for (int i = 0; i < chore.weight(); i++) {
        drawn.add(chore);
      }
    }
  }

  /** Opens, uses and closes the store so many times, with so many writes each time. */
  void run(int times, int writes) throws InterruptedException {
    for (int i = 0; i < times; i++) {
      useOnce(writes, System.nanoTime() + Long.MAX_VALUE / 2);
    }
    checkLast();
  }

  /** Does that until the time is over. */
  void run(long nanos, int writes) throws InterruptedException {
    long deadline = System.nanoTime() + nanos;
    while (System.nanoTime() - deadline < 0) {
      useOnce(writes, deadline);
    }
    checkLast();
  }

  StressModel model() {
    return model;
  }

  private static void verify(KvStore store) {
    assertEquals(List.of(), store.verify().problems());
  }

  private void checkLast() {
    StorageEngine engine = open();
    verify(new OpenStore(engine));
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private void useOnce(int writes, long deadline) throws InterruptedException {
    StorageEngine engine = open();
    StressOpening opening = new StressOpening(new OpenStore(engine));
    for (StressWriter writer : writers) {
      opening.start(
          "writer",
          here -> {
            writer.step(here.store);
            here.wrote();
          });
    }
    for (StressReader reader : readers.subList(0, StressModel.READERS)) {
      opening.start("reader", here -> reader.step(here.store));
    }
    Random pace = new Random(random.nextLong());
    opening.start("chores", here -> doOne(here, pace));
    Random otherPace = new Random(random.nextLong());
    opening.start(
        "keyspaces",
        here -> {
          here.awaitWrites(otherPace.nextInt(100));
          keyspaces.step(here.store);
        });
    opening.awaitEnd(writes / 2 + random.nextInt(writes), deadline);
    opening.store.flush();
    countFigures(opening.store);
    opening.close();
    assertEquals(0, engine.memoryBytes());
    readers.forEach(StressReader::forget);
  }

  private void doOne(StressOpening opening, Random pace) {
    opening.awaitWrites(pace.nextInt(200));
    Chore chore = drawn.get(pace.nextInt(drawn.size()));
    chore.work().accept(opening.store);
    model.count(chore.name());
  }

  private void countFigures(KvStore store) {
    StoreStats stats = store.stats();
    model.count("flushes", stats.flushes());
    model.count("compactions", stats.compactions());
    model.count("openings");
  }

  /** A store that holds what it must, by names, cursors and single reads. */
  private StorageEngine open() {
    CommitSync sync = SYNCS[openings++ % SYNCS.length];
    EngineConfig config =
        Engines.randomConfig(
            disk.get(),
            sync,
            new ManualClock(1_000),
            new Random(random.nextLong()),
            new ThreadScheduler(1 + random.nextInt(4)));
    StorageEngine engine = StorageEngine.open(fitted(config));
    KvStore store = new OpenStore(engine);
    keyspaces.settle(store);
    readers.get(StressModel.OPENER).checkAll(store);
    return engine;
  }

  /**
   * A memtable has to take every value that lies beside its key. By the time that reads take the
   * engine tells whether data is in memory.
   */
  private static EngineConfig fitted(EngineConfig config) {
    return ConfigDraft.of(config)
        .syncIntervalNanos(SYNC_INTERVAL_NANOS)
        .inlineValueBytesMax(Math.min(config.values().inlineBytesMax(), INLINE_BYTES_MAX))
        .ticker(Ticker.system())
        .build();
  }
}
