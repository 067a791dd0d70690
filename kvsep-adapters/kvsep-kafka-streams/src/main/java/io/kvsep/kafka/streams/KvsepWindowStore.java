package io.kvsep.kafka.streams;

import io.kvsep.kafka.streams.SegmentScan.Range;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Function;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.TimeWindow;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.jspecify.annotations.Nullable;

/** A store of windows, see {@link SegmentLayout}. */
class KvsepWindowStore extends SegmentedStore implements WindowStore<Bytes, byte[]> {
  private final long windowMillis;
  private final boolean retainsDuplicates;

  /** Tells windows with one key and start apart, if duplicates are retained. */
  private int sequence;

  KvsepWindowStore(WindowSupplier options) {
    super(
        options.name(),
        options.retentionPeriod(),
        options.emitsOnClose() ? 1 : 0,
        options.layout());
    windowMillis = options.windowSize();
    retainsDuplicates = options.retainDuplicates();
  }

  /** Values begin with a timestamp. */
  static final class Timestamped extends KvsepWindowStore implements TimestampedBytesStore {
    Timestamped(WindowSupplier options) {
      super(options);
    }
  }

  /** Values begin with headers and a timestamp. */
  static final class WithHeaders extends KvsepWindowStore
      implements TimestampedBytesStore, HeadersBytesStore {
    WithHeaders(WindowSupplier options) {
      super(options);
    }
  }

  @Override
  public void put(Bytes key, byte @Nullable [] value, long windowStartTimestamp) {
    Objects.requireNonNull(key, "key");
    if (retainsDuplicates) {
      if (value == null) {
        return; // nothing says which of the duplicates to delete
      }
      sequence = (sequence + 1) & Integer.MAX_VALUE;
    }
    put(SegmentLayout.windowKey(key.get(), windowStartTimestamp, sequence), value);
  }

  @Override
  public byte @Nullable [] fetch(Bytes key, long time) {
    return get(SegmentLayout.windowKey(Objects.requireNonNull(key, "key").get(), time, sequence));
  }

  @Override
  public WindowStoreIterator<byte[]> fetch(Bytes key, long timeFrom, long timeTo) {
    return new OfKey(this, ofKey(key, timeFrom, timeTo), /* forward= */ true);
  }

  @Override
  public WindowStoreIterator<byte[]> backwardFetch(Bytes key, long timeFrom, long timeTo) {
    return new OfKey(this, ofKey(key, timeFrom, timeTo), /* forward= */ false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo, long timeFrom, long timeTo) {
    return scanKeys(keyFrom, keyTo, timeFrom, timeTo, /* forward= */ true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo, long timeFrom, long timeTo) {
    return scanKeys(keyFrom, keyTo, timeFrom, timeTo, /* forward= */ false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(long timeFrom, long timeTo) {
    return scan(timeFrom, timeTo, /* forward= */ true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(long timeFrom, long timeTo) {
    return scan(timeFrom, timeTo, /* forward= */ false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> all() {
    return scan(0, Long.MAX_VALUE, /* forward= */ true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardAll() {
    return scan(0, Long.MAX_VALUE, /* forward= */ false);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> scan(long from, long to, boolean forward) {
    long first = notExpired(from);
    Range range = new Range(first, to, null, null, null, null, times(first, to));
    return new SegmentScan<>(this, range, SegmentLayout.DATA, forward, this::windowed);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> scanKeys(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo, long from, long to, boolean forward) {
    long first = notExpired(from);
    long last = to;
    if (keyFrom != null && keyTo != null && keyFrom.compareTo(keyTo) > 0) {
      warnOfInvalidRange();
      last = Long.MIN_VALUE;
    }
    Range range =
        new Range(
            first,
            last,
            keyFrom,
            keyTo,
            keyFrom == null ? null : keyFrom.get(),
            SegmentLayout.highest(keyTo == null ? null : keyTo.get(), suffix(to)),
            times(first, to));
    return new SegmentScan<>(this, range, keyTag(), forward, this::windowed);
  }

  private Range ofKey(Bytes key, long from, long to) {
    byte[] bytes = Objects.requireNonNull(key, "key").get();
    long first = notExpired(from);
    return new Range(
        first,
        to,
        key,
        key,
        SegmentLayout.windowKey(bytes, Math.max(0, first), 0),
        SegmentLayout.windowKey(bytes, to, Integer.MAX_VALUE),
        times(first, to));
  }

  private byte keyTag() {
    return layout().indexed() ? SegmentLayout.INDEX : SegmentLayout.DATA;
  }

  private SegmentScan.Wanted times(long from, long to) {
    return bytes -> {
      long time = layout().time(bytes);
      return time >= from && time <= to;
    };
  }

  private static byte[] suffix(long time) {
    return ByteBuffer.allocate(Long.BYTES + Integer.BYTES)
        .putLong(time)
        .putInt(Integer.MAX_VALUE)
        .array();
  }

  private Windowed<Bytes> windowed(byte[] storeKey) {
    long start = layout().time(storeKey);
    long end = start + windowMillis;
    byte[] key = Arrays.copyOf(storeKey, storeKey.length - layout().suffixLength());
    return new Windowed<>(Bytes.wrap(key), new TimeWindow(start, end < 0 ? Long.MAX_VALUE : end));
  }

  /** The windows of one key. */
  private static final class OfKey extends SegmentScan<Long>
      implements WindowStoreIterator<byte[]> {
    OfKey(KvsepWindowStore store, Range range, boolean forward) {
      super(store, range, store.keyTag(), forward, start(store));
    }

    private static Function<byte[], Long> start(KvsepWindowStore store) {
      return storeKey -> store.layout().time(storeKey);
    }
  }
}
