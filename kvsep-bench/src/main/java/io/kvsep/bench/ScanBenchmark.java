package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Steps of scans over a flushed and compacted store, in both directions; a scan restarts at its
 * end. One operation is one entry: its key is viewed in place, its value viewed, copied or not
 * read. {@code seek} and {@code open} find a random key, with an open cursor and with one for each
 * key.
 *
 * <pre>
 * java -jar kvsep-bench/target/benchmarks.jar ScanBenchmark -prof gc
 * java -jar kvsep-bench/target/benchmarks.jar ScanBenchmark.views -p valueBytes=1024 -t 2
 * </pre>
 */
public class ScanBenchmark extends ReadBenchmark {
  @Benchmark
  public int views(Scans scans) {
    return view(scans.forward.step());
  }

  @Benchmark
  public int viewsReverse(Scans scans) {
    return view(scans.backward.step());
  }

  @Benchmark
  public int copies(Scans scans) {
    return copy(scans.forward.step());
  }

  @Benchmark
  public int copiesReverse(Scans scans) {
    return copy(scans.backward.step());
  }

  @Benchmark
  public int keysOnly(Scans scans) {
    return key(scans.keysForward.step());
  }

  @Benchmark
  public int keysOnlyReverse(Scans scans) {
    return key(scans.keysBackward.step());
  }

  @Benchmark
  public int seek(Scans scans) {
    scans.keysForward.cursor.seek(scans.randomKey());
    return key(scans.keysForward.cursor);
  }

  @Benchmark
  public int open(Scans scans) {
    ScanOptions from = ScanOptions.range(scans.randomKey(), null).keysOnly();
    try (KvCursor cursor = loaded.store.cursor(from)) {
      cursor.next();
      return key(cursor);
    }
  }

  private static int key(KvCursor cursor) {
    return cursor.keyView().get(Dataset.KEY_BYTES - 1);
  }

  /** Reads both ends of the value. */
  private static int view(KvCursor cursor) {
    ByteBuffer value = cursor.valueView();
    return key(cursor) + value.get(0) + value.get(value.limit() - 1);
  }

  private static int copy(KvCursor cursor) {
    byte[] value = cursor.value();
    return key(cursor) + value[0] + value[value.length - 1];
  }

  @State(Scope.Thread)
  @SuppressWarnings("NullAway.Init") // JMH calls the set-up method first.
  public static class Scans {
    private Scan forward;
    private Scan backward;
    private Scan keysForward;
    private Scan keysBackward;
    private Dataset dataset;
    private byte[] key;
    private SplittableRandom random;

    @Setup(Level.Trial)
    public void open(ScanBenchmark benchmark) {
      dataset = benchmark.loaded.dataset;
      key = dataset.newKey();
      random = new SplittableRandom(Thread.currentThread().getId());
      KvStore store = benchmark.loaded.store;
      ScanOptions keys = ScanOptions.all().keysOnly();
      forward = new Scan(store, ScanOptions.all(), dataset, 0);
      keysForward = new Scan(store, keys, dataset, 0);
      long last = dataset.entryCount() - 1;
      backward = new Scan(store, ScanOptions.all().reverse(), dataset, last);
      keysBackward = new Scan(store, keys.reverse(), dataset, last);
    }

    byte[] randomKey() {
      dataset.putKey(random.nextLong(dataset.entryCount()), key);
      return key;
    }

    @TearDown(Level.Trial)
    public void close() {
      forward.cursor.close();
      backward.cursor.close();
      keysForward.cursor.close();
      keysBackward.cursor.close();
    }
  }

  /** A cursor that restarts at the end. */
  private static final class Scan {
    private final KvCursor cursor;
    private final byte[] firstKey;

    Scan(KvStore store, ScanOptions options, Dataset dataset, long firstOrdinal) {
      cursor = store.cursor(options);
      firstKey = dataset.newKey();
      dataset.putKey(firstOrdinal, firstKey);
    }

    KvCursor step() {
      if (!cursor.next() && !cursor.seek(firstKey)) {
        throw new FailedMeasurementException("the first key is missing");
      }
      return cursor;
    }
  }
}
