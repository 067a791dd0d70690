package io.kvsep.kafka.streams;

import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/** Supplies window stores. */
class WindowSupplier implements WindowBytesStoreSupplier {
  /** When windows are emitted, and so what their store must be good at. */
  enum Emit {
    /** With each update. */
    UPDATES,
    /** Time windows, when they close: a range of times is read in order of time. */
    CLOSED_TIME_WINDOWS,
    /** Sliding windows, when they close: the same, and many reads by key. */
    CLOSED_SLIDING_WINDOWS
  }

  private static final long SECOND = 1_000;

  private final String name;
  private final long retentionMillis;
  private final long windowMillis;
  private final boolean retainsDuplicates;
  private final DslStoreFormat format;
  private final Emit emit;

  private WindowSupplier(
      String name,
      Duration retention,
      Duration windowSize,
      boolean retainsDuplicates,
      DslStoreFormat format,
      Emit emit) {
    this.name = Objects.requireNonNull(name, "name");
    retentionMillis = millis(retention, "retentionPeriod");
    windowMillis = millis(windowSize, "windowSize");
    this.retainsDuplicates = retainsDuplicates;
    this.format = format;
    this.emit = emit;
    if (windowMillis > retentionMillis) {
      throw new IllegalArgumentException(
          "The retention period of the window store "
              + name
              + " must be no smaller than its window size. Got size=["
              + windowSize
              + "], retention=["
              + retention
              + "]");
    }
  }

  static WindowSupplier of(
      String name,
      Duration retention,
      Duration windowSize,
      boolean retainsDuplicates,
      DslStoreFormat format,
      Emit emit) {
    return format == DslStoreFormat.HEADERS
        ? new WithHeaders(name, retention, windowSize, retainsDuplicates, emit)
        : new WindowSupplier(name, retention, windowSize, retainsDuplicates, format, emit);
  }

  /** Kafka tells stores with headers by the type of their supplier. */
  private static final class WithHeaders extends WindowSupplier
      implements HeadersBytesStoreSupplier {
    WithHeaders(
        String name,
        Duration retention,
        Duration windowSize,
        boolean retainsDuplicates,
        Emit emit) {
      super(name, retention, windowSize, retainsDuplicates, DslStoreFormat.HEADERS, emit);
    }
  }

  /** {@return a duration that is not negative in milliseconds} */
  static long millis(Duration duration, String parameter) {
    long millis;
    try {
      millis = Objects.requireNonNull(duration, parameter).toMillis();
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(parameter + " is too long: " + duration, e);
    }
    if (millis < 0) {
      throw new IllegalArgumentException(parameter + " cannot be negative");
    }
    return millis;
  }

  /** Half of the retention, as in Kafka's own stores, so that records are late for both alike. */
  static long segmentMillis(long retentionMillis) {
    return Math.max(retentionMillis / 2, 60_000);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public WindowStore<Bytes, byte[]> get() {
    return switch (format) {
      case PLAIN -> new KvsepWindowStore(this);
      case TIMESTAMPED -> new KvsepWindowStore.Timestamped(this);
      case HEADERS -> new KvsepWindowStore.WithHeaders(this);
    };
  }

  @Override
  public String metricsScope() {
    return "kvsep-window";
  }

  /**
   * {@return by how much time Kafka's cache in front of the store orders its entries before their
   * keys} It merges them with those of the store, which must have the same order.
   */
  @Override
  public long segmentIntervalMs() {
    return emit == Emit.CLOSED_TIME_WINDOWS ? bucketMillis() : segmentMillis(retentionMillis);
  }

  SegmentLayout layout() {
    long segment = segmentMillis(retentionMillis);
    return switch (emit) {
      case UPDATES -> SegmentLayout.ofWindows(segment);
      case CLOSED_TIME_WINDOWS ->
          SegmentLayout.ofOrderedWindows(segment, bucketMillis(), /* indexed= */ false);
      case CLOSED_SLIDING_WINDOWS ->
          SegmentLayout.ofOrderedWindows(segment, 1, /* indexed= */ true);
    };
  }

  boolean emitsOnClose() {
    return emit != Emit.UPDATES;
  }

  /**
   * Starts of windows are multiples of it in all but odd cases, and then order by bucket is order
   * by time. Not shorter than necessary: Kafka's cache looks up each bucket of a range on its own.
   */
  private long bucketMillis() {
    if (windowMillis < SECOND) {
      return 1;
    }
    long bucket = SECOND;
    for (long rest = windowMillis; rest != 0; ) {
      long next = bucket % rest;
      bucket = rest;
      rest = next;
    }
    return bucket;
  }

  @Override
  public long windowSize() {
    return windowMillis;
  }

  @Override
  public boolean retainDuplicates() {
    return retainsDuplicates;
  }

  @Override
  public long retentionPeriod() {
    return retentionMillis;
  }
}
