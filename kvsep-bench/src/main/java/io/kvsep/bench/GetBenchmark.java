package io.kvsep.bench;

import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Random point reads of a flushed and compacted store that fits into memory: present and absent
 * keys, copied into an array or a buffer, appended to a {@code Bytes}, or viewed in place. The
 * first command runs everything with the bytes allocated per call, the second one variant with
 * several threads ({@code -t 1} to {@code -t 4}).
 *
 * <pre>
 * java -jar kvsep-bench/target/benchmarks.jar GetBenchmark -prof gc
 * java -jar kvsep-bench/target/benchmarks.jar GetBenchmark.bytes -p valueBytes=128 -t 2
 * </pre>
 */
public class GetBenchmark extends ReadBenchmark {
  @Benchmark
  public byte @Nullable [] array(Reader reader) {
    return loaded.store.get(reader.presentKey());
  }

  @Benchmark
  public byte @Nullable [] arrayMiss(Reader reader) {
    return loaded.store.get(reader.absentKey());
  }

  @Benchmark
  public long bytesMiss(Reader reader) {
    reader.keyBytes.clear();
    reader.keyBytes.write(reader.absentKey());
    reader.valueBytes.clear();
    return loaded.store.get(reader.keyBytes, reader.valueBytes);
  }

  @Benchmark
  public @Nullable Object viewMiss(Reader reader) {
    return loaded.store.read(reader.absentKey(), Reader.LAST_BYTE);
  }

  @Benchmark
  public boolean contains(Reader reader) {
    return loaded.store.contains(reader.presentKey());
  }

  @Benchmark
  public long bytes(Reader reader) {
    reader.keyBytes.clear();
    reader.keyBytes.write(reader.presentKey());
    reader.valueBytes.clear();
    return loaded.store.get(reader.keyBytes, reader.valueBytes);
  }

  @Benchmark
  public int heapBuffer(Reader reader) {
    return loaded.store.get(reader.presentKey(), reader.heapBuffer.clear());
  }

  @Benchmark
  public int directBuffer(Reader reader) {
    return loaded.store.get(reader.presentKey(), reader.directBuffer.clear());
  }

  @Benchmark
  public @Nullable Object view(Reader reader) {
    return loaded.store.read(reader.presentKey(), Reader.LAST_BYTE);
  }

  @State(Scope.Thread)
  @SuppressWarnings("NullAway.Init") // JMH calls the set-up method first.
  public static class Reader {
    /** Reads both ends of the value; the boxed byte is cached, so this allocates nothing. */
    static final Function<ByteBuffer, Object> LAST_BYTE =
        view -> (byte) (view.get(0) ^ view.get(view.limit() - 1));

    private static final long SEED = 1;

    private Dataset dataset;
    private byte[] key;
    private SplittableRandom random;
    private Bytes<?> keyBytes;
    private Bytes<?> valueBytes;
    private ByteBuffer heapBuffer;
    private ByteBuffer directBuffer;

    @Setup(Level.Trial)
    public void prepare(GetBenchmark benchmark) {
      dataset = benchmark.loaded.dataset;
      key = dataset.newKey();
      random = new SplittableRandom(SEED + Thread.currentThread().getId());
      keyBytes = Bytes.allocateElasticDirect(Dataset.KEY_BYTES);
      valueBytes = Bytes.allocateElasticDirect(dataset.valueBytes());
      heapBuffer = ByteBuffer.allocate(dataset.valueBytes());
      directBuffer = ByteBuffer.allocateDirect(dataset.valueBytes());
    }

    @TearDown(Level.Trial)
    public void release() {
      keyBytes.releaseLast();
      valueBytes.releaseLast();
    }

    byte[] presentKey() {
      dataset.putKey(random.nextLong(dataset.entryCount()), key);
      return key;
    }

    byte[] absentKey() {
      dataset.putAbsentKey(random.nextLong(dataset.entryCount()), key);
      return key;
    }
  }
}
