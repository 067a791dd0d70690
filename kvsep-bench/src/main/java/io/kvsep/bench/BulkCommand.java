package io.kvsep.bench;

import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;

/**
 * Fills new stores alternately with batches and with a bulk load, with the same entries in the same
 * order, and prints the speed-up. Batches have two times: until all is durable, as a bulk load is
 * on return, and until compactions have finished.
 */
final class BulkCommand {
  private static final int BATCH = 1000;

  /** Odd, so that values begin at every possible offset. */
  private static final long NOISE_STEP = 0x9e3779b97f4a7c15L;

  /** Values are slices of this noise, so creating them is cheap compared with storing them. */
  private static final int NOISE_BYTES = 16 << 20;

  private final Dataset dataset;
  private final boolean shuffled;
  private final StoreArguments store;
  private final Figures figures = new Figures(System.out);
  private final byte[] noise;

  private BulkCommand(Dataset dataset, boolean shuffled, StoreArguments store) {
    this.dataset = dataset;
    this.shuffled = shuffled;
    this.store = store;
    this.noise = new byte[NOISE_BYTES + dataset.valueBytes()];
    dataset.putValue(0, noise);
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    StoreArguments store = StoreArguments.forNew(arguments, "none");
    long entries = arguments.number("entries", 1_000_000, 1, Dataset.ENTRIES_MAX);
    int rounds = arguments.count("rounds", 3, 1, 100);
    boolean shuffled = arguments.choice("order", "shuffled", "ascending").equals("shuffled");
    arguments.requireAllUsed();
    Dataset dataset = new Dataset(entries, store.valueBytes());
    BulkCommand command = new BulkCommand(dataset, shuffled, store);
    store.runInNew(directory -> command.measure(directory, rounds));
  }

  private void measure(Path directory, int rounds) {
    double[] durable = new double[rounds];
    double[] settled = new double[rounds];
    for (int round = 0; round < rounds; round++) {
      long[] batches = batches(directory.resolve("batches-" + round));
      long bulk = bulk(directory.resolve("bulk-" + round));
      durable[round] = batches[0] / (double) bulk;
      settled[round] = batches[1] / (double) bulk;
      figures.ratio("round " + (round + 1) + ", bulk by batches", durable[round]);
    }
    figures.ratio("bulk by batches, median", Figures.median(durable));
    figures.ratio("bulk by settled batches, median", Figures.median(settled));
  }

  /** Nanoseconds until all is durable, and until compactions have finished. */
  private long[] batches(Path directory) {
    long[] nanos = new long[2];
    try (KvStore target = KvStore.open(directory, store.options())) {
      WriteBatch batch = new WriteBatch();
      Entries entries = new Entries();
      long start = System.nanoTime();
      while (entries.hasNext()) {
        Map.Entry<byte[], byte[]> entry = entries.next();
        batch.put(entry.getKey(), entry.getValue());
        if (batch.count() == BATCH || !entries.hasNext()) {
          target.write(batch);
          batch.clear();
        }
      }
      target.sync();
      nanos[0] = System.nanoTime() - start;
      LoadCommand.settle(target);
      nanos[1] = System.nanoTime() - start - LoadCommand.QUIET_NANOS;
      rate("batches, until durable", nanos[0]);
      rate("batches, until settled", nanos[1]);
      figures.ratio("write amplification", target.stats().writeAmplification());
    }
    Directories.remove(directory);
    return nanos;
  }

  private long bulk(Path directory) {
    long nanos;
    try (KvStore target = KvStore.open(directory, store.options())) {
      long start = System.nanoTime();
      target.bulkLoad(new Entries());
      nanos = System.nanoTime() - start;
      rate("bulk load", nanos);
      figures.ratio("write amplification", target.stats().writeAmplification());
      figures.mebibytes("off-heap peak", target.stats().memoryPeakBytes());
    }
    Directories.remove(directory);
    return nanos;
  }

  private void rate(String name, long nanos) {
    long count = dataset.entryCount();
    figures.rate(name, count, count * (Dataset.KEY_BYTES + dataset.valueBytes()), nanos);
  }

  private final class Entries implements Iterator<Map.Entry<byte[], byte[]>> {
    private final byte[] key = dataset.newKey();
    private final byte[] value = new byte[dataset.valueBytes()];
    private final Map.Entry<byte[], byte[]> entry = Map.entry(key, value);
    private long index;

    @Override
    public boolean hasNext() {
      return index < dataset.entryCount();
    }

    @Override
    public Map.Entry<byte[], byte[]> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      long ordinal = shuffled ? dataset.shuffled(index) : index;
      index++;
      dataset.putKey(ordinal, key);
      int from = (int) ((ordinal * NOISE_STEP) & (NOISE_BYTES - 1));
      System.arraycopy(noise, from, value, 0, value.length);
      return entry;
    }
  }
}
