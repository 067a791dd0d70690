package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Steps of a forward scan over a store that is flushed and compacted; at the end it begins again.
 * One operation is one entry.
 *
 * <pre>
 * java -jar kvsep-bench/target/benchmarks.jar ScanBenchmark -prof gc
 * </pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 3, time = 3)
@Fork(
    value = 1,
    jvmArgsAppend = {
      "-Xmx1g",
      "-Dsun.misc.unsafe.memory.access=allow",
      "--enable-native-access=ALL-UNNAMED"
    })
@State(Scope.Thread)
@SuppressWarnings("NullAway.Init") // JMH calls the set-up method before anything else.
public class ScanBenchmark {
  @Param({"128", "1024", "16384"})
  int valueBytes;

  private LoadedStore loaded;
  private KvCursor entries;
  private KvCursor keys;
  private byte[] firstKey;

  @Setup(Level.Trial)
  public void fill() {
    loaded = LoadedStore.filled(valueBytes);
    entries = loaded.store.cursor();
    keys = loaded.store.cursor(ScanOptions.all().keysOnly());
    firstKey = loaded.dataset.newKey();
    loaded.dataset.putKey(0, firstKey);
  }

  @TearDown(Level.Trial)
  public void remove() {
    entries.close();
    keys.close();
    loaded.close();
  }

  @Benchmark
  public int withValues() {
    step(entries);
    return entries.keyView().get(Dataset.KEY_BYTES - 1) + entries.valueView().get(0);
  }

  @Benchmark
  public int keysOnly() {
    step(keys);
    return keys.keyView().get(Dataset.KEY_BYTES - 1);
  }

  private void step(KvCursor cursor) {
    if (!cursor.next() && !cursor.seek(firstKey)) {
      throw new FailedMeasurementException("the first key is missing");
    }
  }
}
