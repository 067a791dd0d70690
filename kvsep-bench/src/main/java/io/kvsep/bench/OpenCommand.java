package io.kvsep.bench;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Opens and closes a store repeatedly: measures both, and what an open store holds. */
final class OpenCommand {
  private OpenCommand() {}

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of("read-only", "cold"));
    StoreArguments chosen =
        arguments.flag("read-only")
            ? StoreArguments.forReading(arguments)
            : StoreArguments.forExisting(arguments);
    int rounds = arguments.count("rounds", 100, 1, 1_000_000);
    long seconds = arguments.number("seconds", 10, 1, Workers.SECONDS_MAX);
    boolean cold = arguments.flag("cold");
    arguments.requireAllUsed();
    measure(chosen.existing(), chosen.options(), rounds, seconds, cold);
  }

  private static void measure(
      Path directory, KvOptions options, int rounds, long seconds, boolean cold) {
    Figures figures = new Figures(System.out);
    Latencies opens = new Latencies();
    Latencies closes = new Latencies();
    long begin = System.nanoTime();
    try (Progress progress = new Progress("open", rounds, System.err)) {
      for (int round = 0; round < rounds; round++) {
        if (round > 0 && System.nanoTime() - begin >= seconds * 1_000_000_000) {
          break;
        }
        if (cold) {
          FileCache.drop(figures);
        }
        long start = System.nanoTime();
        KvStore store = KvStore.open(directory, options);
        long opened = System.nanoTime() - start;
        if (round == 0) {
          // The first open also loads classes and replays the log.
          figures.seconds("first open", opened);
          print(store.stats(), figures);
        } else {
          opens.add(opened);
        }
        start = System.nanoTime();
        store.close();
        closes.add(System.nanoTime() - start);
        progress.update(round + 1);
      }
    }
    figures.count("opened again", opens.count());
    figures.latencies("open", opens);
    figures.latencies("close", closes);
  }

  private static void print(StoreStats stats, Figures figures) {
    figures.mebibytes("replayed", stats.replayedBytes());
    figures.count("entries, about", stats.entriesEstimate());
    figures.count("tables", stats.levels().stream().mapToInt(StoreStats.Level::tables).sum());
    figures.count("log files", stats.logSegments());
    figures.mebibytes(
        "off-heap, opened", stats.memoryBytes().values().stream().mapToLong(Long::longValue).sum());
    figures.count("mappings", ProcessFigures.mappings());
    figures.count("open files", ProcessFigures.openFiles());
  }
}
