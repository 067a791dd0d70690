package io.kvsep.bench;

import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** Scans all entries of a store in order. */
final class ScanCommand {
  private static final int ADAPTIVE = -1;

  private ScanCommand() {}

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of("keys-only", "reverse", "cold"));
    StoreArguments chosen = StoreArguments.forExisting(arguments);
    boolean keysOnly = arguments.flag("keys-only");
    boolean reverse = arguments.flag("reverse");
    int passes = arguments.count("passes", 3, 1, 1_000_000);
    long limit = arguments.number("entries", Long.MAX_VALUE, 1, Long.MAX_VALUE);
    int prefetch = arguments.count("prefetch", ADAPTIVE, 0, 4096);
    int threads = arguments.count("threads", 1, 1, 1024);
    Duration time = arguments.seconds("seconds", Workers.SECONDS_MAX, Workers.SECONDS_MAX);
    boolean cold = arguments.flag("cold");
    arguments.requireAllUsed();
    ScanOptions options = keysOnly ? ScanOptions.all().keysOnly() : ScanOptions.all();
    ScanOptions windowed = prefetch == ADAPTIVE ? options : options.prefetch(prefetch);
    ScanOptions directed = reverse ? windowed.reverse() : windowed;
    Figures figures = new Figures(System.out);
    long start = System.nanoTime();
    try (KvStore store = KvStore.open(chosen.existing(), chosen.options())) {
      Walk walk = new Walk(store, directed, keysOnly, limit);
      for (int pass = 1; pass <= passes; pass++) {
        Duration left = time.minusNanos(System.nanoTime() - start);
        if (left.isNegative()) {
          break;
        }
        if (cold) {
          FileCache.drop(figures);
        }
        walk.measure("pass " + pass, threads, left, figures);
      }
    }
  }
}
