package io.kvsep.server.cli;

import io.kvsep.KvStore;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** A process that fails after a few batches, which are all there. */
final class FailingWriter {
  private FailingWriter() {}

  public static void main(String[] arguments) {
    List<String> words = Arrays.asList(arguments);
    Path directory = Path.of(words.get(words.indexOf("--dir") + 1));
    long first = Long.parseLong(words.get(words.indexOf("--first") + 1));
    try (KvStore store = KvStore.open(directory)) {
      for (long number = first; number < first + 3; number++) {
        store.write(CrashBatches.batch(number));
        System.out.println(number);
      }
    }
    System.err.println("a seeded failure");
    System.exit(1);
  }
}
