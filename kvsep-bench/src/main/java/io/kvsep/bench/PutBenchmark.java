package io.kvsep.bench;

import java.util.SplittableRandom;
import net.openhft.chronicle.bytes.Bytes;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Single puts of random keys; synced only when the store is closed. Flushes and compactions run
 * concurrently and are part of the figure; every iteration starts with an empty store.
 *
 * <pre>
 * java -jar kvsep-bench/target/benchmarks.jar PutBenchmark -prof gc
 * </pre>
 */
@State(Scope.Thread)
@SuppressWarnings("NullAway.Init") // JMH calls the set-up method first.
public class PutBenchmark extends StoreBenchmark {
  private static final long SEED = 1;

  @Param({"128", "1024", "16384"})
  int valueBytes;

  private LoadedStore target;
  private SplittableRandom random;
  private byte[] key;
  private byte[] value;
  private Bytes<?> keyBytes;
  private Bytes<?> valueStore;

  @Setup(Level.Iteration)
  public void open() {
    target = LoadedStore.empty(valueBytes);
    random = new SplittableRandom(SEED);
    key = target.dataset.newKey();
    value = new byte[valueBytes];
    target.dataset.putValue(SEED, value);
    keyBytes = Bytes.allocateElasticDirect(Dataset.KEY_BYTES);
    valueStore = Bytes.allocateElasticDirect(valueBytes);
    valueStore.write(value);
  }

  @TearDown(Level.Iteration)
  public void remove() {
    keyBytes.releaseLast();
    valueStore.releaseLast();
    target.close();
  }

  @Benchmark
  public void array() {
    target.store.put(nextKey(), value);
  }

  @Benchmark
  public void bytes() {
    keyBytes.clear();
    keyBytes.write(nextKey());
    target.store.put(keyBytes, valueStore);
  }

  private byte[] nextKey() {
    target.dataset.putKey(random.nextLong(target.dataset.entryCount()), key);
    return key;
  }
}
