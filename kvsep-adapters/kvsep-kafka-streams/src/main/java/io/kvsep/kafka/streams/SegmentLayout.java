package io.kvsep.kafka.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Where windows and sessions are in their keyspace. A <i>store key</i> is the key of the changelog,
 * whose format Kafka fixes; numbers are big-endian, so windows of a key are in order of time.
 *
 * <pre>
 * store key of a window     key, start (8 bytes), sequence number (4)
 * store key of a session    key, end (8), start (8)
 *
 * key in the keyspace                                       value
 * 'd', bucket (8), [start of the session (8)], store key    value
 * 'i', segment (8), store key                               empty: the index
 * </pre>
 *
 * A segment is what expires at once: the time of a store key, its first number, divided by the
 * interval of segments. The bucket is the same with an interval of its own. Usually both are equal
 * and there is no index. What is emitted when windows close is read in order of time: buckets are
 * short then, and reads by key, which are frequent with sliding windows and sessions, use the
 * index.
 *
 * @param suffixLength bytes of a store key after the key
 * @param segmentMillis interval of segments
 * @param bucketMillis interval of buckets
 * @param startAfterBucket whether the start of the session comes before the key
 * @param indexed whether there is an index
 */
record SegmentLayout(
    int suffixLength,
    long segmentMillis,
    long bucketMillis,
    boolean startAfterBucket,
    boolean indexed) {
  static final byte DATA = 'd';
  static final byte INDEX = 'i';

  private static final int WINDOW_SUFFIX = Long.BYTES + Integer.BYTES;
  private static final int SESSION_SUFFIX = 2 * Long.BYTES;
  private static final int BUCKET_PREFIX = 1 + Long.BYTES;

  static SegmentLayout ofWindows(long segmentMillis) {
    return new SegmentLayout(WINDOW_SUFFIX, segmentMillis, segmentMillis, false, false);
  }

  static SegmentLayout ofOrderedWindows(long segmentMillis, long bucketMillis, boolean indexed) {
    return new SegmentLayout(WINDOW_SUFFIX, segmentMillis, bucketMillis, false, indexed);
  }

  static SegmentLayout ofSessions(long segmentMillis) {
    return new SegmentLayout(SESSION_SUFFIX, segmentMillis, segmentMillis, false, false);
  }

  static SegmentLayout ofOrderedSessions(long segmentMillis) {
    return new SegmentLayout(SESSION_SUFFIX, segmentMillis, 1, true, true);
  }

  /** Store key of a window. */
  static byte[] windowKey(byte[] key, long start, int sequence) {
    return ByteBuffer.allocate(key.length + WINDOW_SUFFIX)
        .put(key)
        .putLong(start)
        .putInt(sequence)
        .array();
  }

  /** Store key of a session. */
  static byte[] sessionKey(byte[] key, long start, long end) {
    return ByteBuffer.allocate(key.length + SESSION_SUFFIX)
        .put(key)
        .putLong(end)
        .putLong(start)
        .array();
  }

  /**
   * {@return the time of a store key at the end of {@code bytes}: start of the window or end of the
   * session}
   */
  long time(byte[] bytes) {
    return ByteBuffer.wrap(bytes).getLong(bytes.length - suffixLength);
  }

  /** {@return the start of the session whose store key is at the end of {@code bytes}} */
  static long sessionStart(byte[] bytes) {
    return ByteBuffer.wrap(bytes).getLong(bytes.length - Long.BYTES);
  }

  byte[] dataKey(byte[] storeKey) {
    ByteBuffer buffer = ByteBuffer.allocate(prefixLength(DATA) + storeKey.length);
    buffer.put(DATA).putLong(time(storeKey) / bucketMillis);
    if (startAfterBucket) {
      buffer.putLong(sessionStart(storeKey));
    }
    return buffer.put(storeKey).array();
  }

  byte[] indexKey(byte[] storeKey) {
    return ByteBuffer.allocate(BUCKET_PREFIX + storeKey.length)
        .put(INDEX)
        .putLong(time(storeKey) / segmentMillis)
        .put(storeKey)
        .array();
  }

  /** {@return bytes before the store key} */
  int prefixLength(byte tag) {
    return tag == DATA && startAfterBucket ? BUCKET_PREFIX + Long.BYTES : BUCKET_PREFIX;
  }

  /** {@return the number of the bucket, or of the segment in the index, in which a time is} */
  long bucket(byte tag, long time) {
    return Math.max(0, time) / (tag == DATA ? bucketMillis : segmentMillis);
  }

  /** {@return the first key of a bucket, followed by {@code rest}} */
  static byte[] bucketKey(byte tag, long bucket, byte[] rest) {
    return ByteBuffer.allocate(BUCKET_PREFIX + rest.length)
        .put(tag)
        .putLong(bucket)
        .put(rest)
        .array();
  }

  static long bucketOf(byte[] keyspaceKey) {
    return ByteBuffer.wrap(keyspaceKey).getLong(1);
  }

  /**
   * {@return the highest store key of all keys up to {@code key}, null for no limit} That need not
   * be one of {@code key}: those of its prefixes may be higher.
   *
   * @param key the last key
   * @param suffix the highest bytes after the key
   */
  static byte @Nullable [] highest(byte @Nullable [] key, byte[] suffix) {
    if (key == null) {
      return null;
    }
    byte[] highest = joined(key, key.length, suffix);
    for (int length = key.length - 1; length >= 0; length--) {
      if (Arrays.compareUnsigned(suffix, 0, suffix.length, highest, length, highest.length) > 0) {
        highest = joined(key, length, suffix);
      }
    }
    return highest;
  }

  private static byte[] joined(byte[] key, int length, byte[] suffix) {
    byte[] result = Arrays.copyOf(key, length + suffix.length);
    System.arraycopy(suffix, 0, result, length, suffix.length);
    return result;
  }
}
