package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.util.List;
import java.util.Set;

/** Walks all entries of a store in order. */
final class ScanCommand {
  private static final int ADAPTIVE = -1;

  private ScanCommand() {}

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of("keys-only", "reverse"));
    StoreArguments chosen = StoreArguments.forExisting(arguments);
    boolean keysOnly = arguments.flag("keys-only");
    boolean reverse = arguments.flag("reverse");
    int passes = arguments.count("passes", 3, 1, 1_000_000);
    long limit = arguments.number("entries", Long.MAX_VALUE, 1, Long.MAX_VALUE);
    int prefetch = arguments.count("prefetch", ADAPTIVE, 0, 4096);
    arguments.requireAllUsed();
    ScanOptions options = keysOnly ? ScanOptions.all().keysOnly() : ScanOptions.all();
    ScanOptions windowed = prefetch == ADAPTIVE ? options : options.prefetch(prefetch);
    ScanOptions directed = reverse ? windowed.reverse() : windowed;
    Figures figures = new Figures(System.out);
    try (KvStore store = KvStore.open(chosen.existing(), chosen.options())) {
      for (int pass = 1; pass <= passes; pass++) {
        long cpuStart = Figures.cpuNanos();
        long start = System.nanoTime();
        long count = 0;
        long bytes = 0;
        try (KvCursor cursor = store.cursor(directed)) {
          while (count < limit && cursor.next()) {
            count++;
            bytes += cursor.keyView().remaining();
            if (!keysOnly) {
              bytes += cursor.valueView().remaining();
            }
          }
        }
        figures.rate("pass " + pass, count, bytes, System.nanoTime() - start);
        long cpuNanos = Figures.cpuNanos() - cpuStart;
        figures.rate("pass " + pass + ", a CPU second", count, bytes, cpuNanos);
      }
    }
  }
}
