package io.kvsep.bench;

import io.kvsep.KvStore;
import java.util.List;
import java.util.Set;

/** Random reads of a loaded store, with several threads compared with one. */
final class ScalingCommand {
  private ScalingCommand() {}

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    StoreArguments chosen = StoreArguments.forExisting(arguments);
    long entries = arguments.number("entries", 1_000_000, 1, Dataset.ENTRIES_MAX);
    Scaling scaling = Scaling.from(arguments, new Figures(System.out));
    String via = arguments.choice("via", "all", "array", "bytes", "view", "contains");
    arguments.requireAllUsed();
    Dataset dataset = new Dataset(entries, chosen.valueBytes());
    List<String> ways = via.equals("all") ? List.of("array", "bytes", "view") : List.of(via);
    try (KvStore store = KvStore.open(chosen.existing(), chosen.options())) {
      for (String way : ways) {
        scaling.measure(
            way, (worker, running) -> GetCommand.read(way, store, dataset, worker, running));
      }
    }
  }
}
