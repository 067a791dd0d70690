package io.kvsep.bench;

import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Reads of a flushed and compacted store that fits into memory. */
@State(Scope.Benchmark)
@SuppressWarnings("NullAway.Init") // JMH calls the set-up method first.
public abstract class ReadBenchmark extends StoreBenchmark {
  @Param({"128", "1024", "16384"})
  int valueBytes;

  LoadedStore loaded;

  @Setup(Level.Trial)
  public void fill() {
    loaded = LoadedStore.filled(valueBytes);
  }

  @TearDown(Level.Trial)
  public void remove() {
    loaded.close();
  }
}
