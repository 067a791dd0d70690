package io.kvsep.bench;

import io.kvsep.KvStore;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;

/** Reads random existing keys, on some threads for some time. */
final class GetCommand {
  /** Reads between two looks at the clock. */
  private static final int ROUND = 256;

  private GetCommand() {}

  /** One way to read a key. Returns whether it has a value of the right length. */
  private interface Read {
    boolean find(byte[] key);
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    StoreArguments chosen = StoreArguments.forExisting(arguments);
    long entries = arguments.number("entries", 1_000_000, 1, Dataset.ENTRIES_MAX);
    int threads = arguments.count("threads", 1, 1, 1024);
    Duration time = arguments.seconds("seconds", 10, 86_400);
    String via = arguments.choice("via", "array", "bytes", "view", "contains", "all");
    int batch = arguments.count("batch", 100, 1, 1_000_000);
    arguments.requireAllUsed();
    Dataset dataset = new Dataset(entries, chosen.valueBytes());
    Figures figures = new Figures(System.out);
    try (KvStore store = KvStore.open(chosen.existing(), chosen.options())) {
      // The first run warms up code and file cache.
      for (String name : List.of("warm-up", "get")) {
        Workers.Outcome outcome =
            Workers.run(
                threads,
                name.equals("get") ? time : time.dividedBy(2),
                (worker, running) ->
                    via.equals("all")
                        ? readAll(batch, store, dataset, worker, running)
                        : read(via, store, dataset, worker, running));
        long bytes = via.equals("contains") ? 0 : outcome.operations() * dataset.valueBytes();
        figures.rate(name, outcome.operations(), bytes, outcome.nanos());
        figures.rate(name + ", a CPU second", outcome.operations(), bytes, outcome.cpuNanos());
      }
    }
  }

  /** Reads until {@code running} is false; returns the number of reads. */
  static long read(
      String via, KvStore store, Dataset dataset, int worker, BooleanSupplier running) {
    byte[] key = dataset.newKey();
    SplittableRandom random = new SplittableRandom(worker + 1);
    Read read = reader(via, store, dataset.valueBytes());
    long count = 0;
    while (running.getAsBoolean()) {
      for (int i = 0; i < ROUND; i++) {
        dataset.putKey(random.nextLong(dataset.entryCount()), key);
        if (!read.find(key)) {
          throw new FailedMeasurementException("a key is missing or has a value of another length");
        }
      }
      count += ROUND;
    }
    return count;
  }

  private static long readAll(
      int batch, KvStore store, Dataset dataset, int worker, BooleanSupplier running) {
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i < batch; i++) {
      keys.add(dataset.newKey());
    }
    SplittableRandom random = new SplittableRandom(worker + 1);
    long count = 0;
    while (running.getAsBoolean()) {
      for (byte[] key : keys) {
        dataset.putKey(random.nextLong(dataset.entryCount()), key);
      }
      for (byte[] value : store.getAll(keys)) {
        if (value == null || value.length != dataset.valueBytes()) {
          throw new FailedMeasurementException("a key is missing or has a value of another length");
        }
      }
      count += batch;
    }
    return count;
  }

  private static Read reader(String via, KvStore store, int valueBytes) {
    switch (via) {
      case "array":
        return key -> {
          byte[] value = store.get(key);
          return value != null && value.length == valueBytes;
        };
      case "bytes":
        Bytes<?> target = Bytes.allocateElasticDirect(valueBytes);
        Bytes<?> source = Bytes.allocateElasticDirect(Dataset.KEY_BYTES);
        return key -> {
          source.clear().write(key);
          return store.get(source, target.clear()) == valueBytes;
        };
      case "view":
        Function<ByteBuffer, Boolean> check = view -> view.remaining() == valueBytes;
        return key -> Boolean.TRUE.equals(store.read(key, check));
      default:
        return store::contains;
    }
  }
}
