package io.kvsep.kafka.streams;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import java.util.Arrays;
import java.util.function.Function;
import org.apache.kafka.common.utils.Bytes;
import org.jspecify.annotations.Nullable;

/**
 * A scan over buckets with one cursor: a seek to the lower bound in each bucket, steps up to the
 * upper bound, a seek into the next. Buckets without entries cost nothing.
 *
 * @param <K> type of the keys
 */
class SegmentScan<K> extends ScanIterator<K> {
  private static final byte[] NONE = {};

  /**
   * What to read.
   *
   * @param firstTime of the first bucket
   * @param lastTime of the last bucket
   * @param keyFrom the first key, null for no limit
   * @param keyTo the last key, null for no limit
   * @param lower no store key wanted in a bucket is lower, null for no limit
   * @param upper no store key wanted in a bucket is higher, null for no limit
   * @param wanted whether a store key at the end of some bytes has a wanted time
   */
  record Range(
      long firstTime,
      long lastTime,
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      byte @Nullable [] lower,
      byte @Nullable [] upper,
      Wanted wanted) {}

  /** Tells wanted times. */
  interface Wanted {
    boolean test(byte[] bytes);
  }

  private final SegmentedStore store;
  private final SegmentLayout layout;
  private final Range range;
  private final byte tag;
  private final boolean forward;
  private final int prefixLength;

  /** In the direction of the scan. */
  private final long lastBucket;

  private final Function<byte[], K> keys;
  private boolean started;
  private byte[] stored = NONE;
  private byte @Nullable [] valueByIndex;

  /**
   * Begins a scan. A closed store has no entries.
   *
   * @param tag what to scan: data or index
   * @param keys makes a key of a store key
   */
  SegmentScan(
      SegmentedStore store, Range range, byte tag, boolean forward, Function<byte[], K> keys) {
    super(store);
    this.store = store;
    this.range = range;
    this.tag = tag;
    this.forward = forward;
    this.keys = keys;
    layout = store.layout();
    prefixLength = layout.prefixLength(tag);
    lastBucket = layout.bucket(tag, forward ? range.lastTime() : range.firstTime());
  }

  @Override
  @Nullable KvCursor open() {
    if (range.lastTime() < range.firstTime() || !store.isOpen()) {
      return null;
    }
    long first = layout.bucket(tag, range.firstTime());
    // One more than the highest number is negative, which as unsigned bytes is above all others.
    long end = layout.bucket(tag, range.lastTime()) + 1;
    ScanOptions options =
        ScanOptions.range(
            SegmentLayout.bucketKey(tag, first, NONE), SegmentLayout.bucketKey(tag, end, NONE));
    return store.keyspace().cursor(forward ? options : options.reverse());
  }

  @Override
  boolean advance(KvCursor cursor) {
    boolean valid;
    if (started) {
      valid = cursor.next();
    } else {
      started = true;
      valid =
          cursor.seek(begin(layout.bucket(tag, forward ? range.firstTime() : range.lastTime())));
    }
    while (valid) {
      byte[] key = cursor.key();
      int lower = compare(key, range.lower(), -1);
      int upper = compare(key, range.upper(), 1);
      if (forward ? lower < 0 : -upper < 0) {
        valid = cursor.seek(begin(SegmentLayout.bucketOf(key)));
      } else if (forward ? -upper < 0 : lower < 0) {
        long bucket = SegmentLayout.bucketOf(key);
        valid = bucket != lastBucket && cursor.seek(begin(bucket + (forward ? 1 : -1)));
      } else if (isWanted(key)) {
        stored = key;
        return true;
      } else {
        valid = cursor.next();
      }
    }
    return false;
  }

  /** Compares the store key with a bound. */
  private int compare(byte[] key, byte @Nullable [] bound, int side) {
    return bound == null
        ? -side
        : Arrays.compareUnsigned(key, prefixLength, key.length, bound, 0, bound.length);
  }

  /** Where to begin in a bucket, in the direction of the scan. */
  private byte[] begin(long bucket) {
    if (forward) {
      return SegmentLayout.bucketKey(tag, bucket, range.lower() == null ? NONE : range.lower());
    }
    return range.upper() == null
        ? SegmentLayout.bucketKey(tag, bucket + 1, NONE)
        : SegmentLayout.bucketKey(tag, bucket, range.upper());
  }

  private boolean isWanted(byte[] key) {
    if (!range.wanted().test(key)
        || compareKey(key, range.keyFrom(), -1) < 0
        || compareKey(key, range.keyTo(), 1) > 0) {
      return false;
    }
    if (tag == SegmentLayout.INDEX) {
      valueByIndex = store.get(storeKey(key));
      return valueByIndex != null;
    }
    return true;
  }

  private int compareKey(byte[] key, @Nullable Bytes bound, int side) {
    return bound == null
        ? -side
        : Arrays.compareUnsigned(
            key,
            prefixLength,
            key.length - layout.suffixLength(),
            bound.get(),
            0,
            bound.get().length);
  }

  private byte[] storeKey(byte[] key) {
    return Arrays.copyOfRange(key, prefixLength, key.length);
  }

  @Override
  K key(KvCursor at) {
    return keys.apply(storeKey(stored));
  }

  @Override
  byte[] value(KvCursor at) {
    byte[] value = valueByIndex;
    return value != null ? value : at.value();
  }

  @Override
  boolean hasNextWhenClosed() {
    return false;
  }
}
