package io.kvsep.bench;

import io.kvsep.WriteBatch;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Loads new keys in batches of a thousand, shuffled or ascending; synced only when the store is
 * closed. One operation is one entry. Flushes and compactions run concurrently and are part of the
 * figure; every iteration starts with an empty store. All entries share one value, so that creating
 * values is not measured.
 *
 * <pre>
 * java -jar kvsep-bench/target/benchmarks.jar LoadBenchmark
 * java -jar kvsep-bench/target/benchmarks.jar LoadBenchmark.shuffled -p valueBytes=1024 -prof gc
 * </pre>
 */
@State(Scope.Thread)
@SuppressWarnings("NullAway.Init") // JMH calls the set-up method first.
public class LoadBenchmark extends StoreBenchmark {
  private static final int BATCH_COUNT = 1000;

  @Param({"128", "1024", "16384"})
  int valueBytes;

  private LoadedStore target;
  private Dataset keys;
  private WriteBatch batch;
  private byte[] key;
  private byte[] value;
  private long next;

  @Setup(Level.Iteration)
  public void open() {
    target = LoadedStore.empty(valueBytes);
    // More than an iteration can write; otherwise it would begin to overwrite.
    keys = new Dataset(Dataset.ENTRIES_MAX, valueBytes);
    batch = new WriteBatch();
    key = keys.newKey();
    value = new byte[valueBytes];
    keys.putValue(0, value);
    next = 0;
  }

  @TearDown(Level.Iteration)
  public void remove() {
    target.close();
  }

  @Benchmark
  @OperationsPerInvocation(BATCH_COUNT)
  public void shuffled() {
    for (int i = 0; i < BATCH_COUNT; i++) {
      add(keys.shuffled(next++));
    }
    write();
  }

  @Benchmark
  @OperationsPerInvocation(BATCH_COUNT)
  public void ascending() {
    for (int i = 0; i < BATCH_COUNT; i++) {
      add(next++);
    }
    write();
  }

  private void add(long ordinal) {
    keys.putKey(ordinal, key);
    batch.put(key, value);
  }

  private void write() {
    target.store.write(batch);
    batch.clear();
  }
}
