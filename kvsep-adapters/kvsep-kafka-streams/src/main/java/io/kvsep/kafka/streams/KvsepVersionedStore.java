package io.kvsep.kafka.streams;

import io.kvsep.KvCursor;
import io.kvsep.KvView;
import io.kvsep.ScanOptions;
import io.kvsep.error.KvException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.MultiVersionedKeyQuery;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.ResultOrder;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.VersionedRecordIterator;
import org.jspecify.annotations.Nullable;

/**
 * A store that keeps versions of each key for a while. A version is valid until the next one of its
 * key.
 *
 * <pre>
 * key in the keyspace                                       value
 * 'v', length of the key (4 bytes), key, time (8)           1, value; 0 alone: deleted at this time
 * 'x', segment (8), the same without its 'v'                empty: expires with the segment
 * </pre>
 *
 * The second kind names a version that ended in the segment, and a deletion that may be the last
 * word on its key. Times have their sign bit flipped, which makes their bytes sort.
 */
final class KvsepVersionedStore extends KvsepStore
    implements VersionedKeyValueStore<Bytes, byte[]> {
  private static final byte VERSION = 'v';
  private static final byte EXPIRY = 'x';
  private static final int EXPIRY_PREFIX = 1 + Long.BYTES;
  private static final byte[] DELETED = {0};
  private static final byte[] NONE = {};

  private final long retentionMillis;
  private final long segmentMillis;
  private volatile long streamTime = ConsumerRecord.NO_TIMESTAMP;

  /** The first segment that may hold something. */
  private long firstSegment;

  private @Nullable DroppedRecords droppedRecords;

  KvsepVersionedStore(String name, long retentionMillis, long segmentMillis) {
    super(name);
    this.retentionMillis = retentionMillis;
    this.segmentMillis = segmentMillis;
  }

  @Override
  void beforeOpen(StateStoreContext stateStoreContext) {
    droppedRecords = new DroppedRecords(stateStoreContext);
    firstSegment = 0; // what is opened may be older than what was closed
  }

  @Override
  public long put(Bytes key, byte @Nullable [] value, long timestamp) {
    Objects.requireNonNull(key, "key");
    long validTo = PUT_RETURN_CODE_NOT_PUT;
    if (!dropsExpired(timestamp)) {
      streamTime = Math.max(streamTime, timestamp);
      validTo = keyspace().buffered(view -> put(view, key.get(), value, timestamp));
    }
    updatePosition();
    return validTo;
  }

  @Override
  public @Nullable VersionedRecord<byte[]> delete(Bytes key, long timestamp) {
    Objects.requireNonNull(key, "key");
    if (dropsExpired(timestamp)) {
      return null;
    }
    VersionedRecord<byte[]> before = get(key, timestamp);
    put(key, null, timestamp);
    return before;
  }

  private boolean dropsExpired(long timestamp) {
    if (timestamp >= streamTime - retentionMillis) {
      return false;
    }
    if (droppedRecords != null) {
      droppedRecords.record();
    }
    LOG.debug("Dropping a record of store {}: it is older than the history kept", name());
    return true;
  }

  @Override
  public @Nullable VersionedRecord<byte[]> get(Bytes key) {
    return last(Objects.requireNonNull(key, "key").get(), Long.MAX_VALUE);
  }

  @Override
  public @Nullable VersionedRecord<byte[]> get(Bytes key, long asOfTimestamp) {
    byte[] bytes = Objects.requireNonNull(key, "key").get();
    if (asOfTimestamp < streamTime - retentionMillis) {
      VersionedRecord<byte[]> last = last(bytes, Long.MAX_VALUE);
      return last == null || last.timestamp() > asOfTimestamp ? null : last;
    }
    return last(bytes, asOfTimestamp);
  }

  /** {@return the version at a time, null if there is none} */
  private @Nullable VersionedRecord<byte[]> last(byte[] key, long asOf) {
    return read(
        key,
        cursor -> {
          if (!cursor.seekFloor(versionKey(key, asOf))) {
            return null;
          }
          byte[] value = cursor.value();
          long time = time(cursor);
          return record(value, time, cursor.next() ? time(cursor) : null);
        });
  }

  /** Versions that are valid at some time from {@code from} to {@code to}, oldest first. */
  private List<VersionedRecord<byte[]>> versions(Bytes key, long from, long to) {
    if (to < streamTime - retentionMillis) {
      VersionedRecord<byte[]> last = get(key, to);
      return last == null ? List.of() : List.of(last);
    }
    return read(
        key.get(),
        cursor -> {
          List<VersionedRecord<byte[]>> found = new ArrayList<>();
          boolean valid = cursor.seekFloor(versionKey(key.get(), from)) || cursor.next();
          while (valid && time(cursor) <= to) {
            byte[] value = cursor.value();
            long time = time(cursor);
            valid = cursor.next();
            VersionedRecord<byte[]> record = record(value, time, valid ? time(cursor) : null);
            if (record != null) {
              found.add(record);
            }
          }
          return found;
        });
  }

  private <R extends @Nullable Object> R read(byte[] key, Function<KvCursor, R> reader) {
    TaskKeyspace keyspace = keyspace();
    try (KvCursor cursor = keyspace.cursor(ScanOptions.prefix(keyPrefix(key)).prefetch(0))) {
      return reader.apply(cursor);
    } catch (KvException e) {
      throw keyspace.translated(e);
    }
  }

  private static @Nullable VersionedRecord<byte[]> record(
      byte[] stored, long time, @Nullable Long validTo) {
    if (stored[0] == DELETED[0]) {
      return null;
    }
    byte[] value = Arrays.copyOfRange(stored, 1, stored.length);
    return validTo == null
        ? new VersionedRecord<>(value, time)
        : new VersionedRecord<>(value, time, validTo);
  }

  /** {@return until when the new version is valid, -1 if it is the last one} */
  private long put(KvView view, byte[] key, byte @Nullable [] value, long timestamp) {
    deleteExpired(view);
    byte[] versionKey = versionKey(key, timestamp);
    Long next = null;
    byte[] previous = null;
    boolean wasDeleted = false;
    try (KvCursor cursor = view.cursor(ScanOptions.prefix(keyPrefix(key)).prefetch(0))) {
      if (cursor.seek(versionKey)) {
        if (time(cursor) != timestamp) {
          next = time(cursor);
        } else {
          wasDeleted = cursor.valueLength() == DELETED.length && cursor.value()[0] == DELETED[0];
          next = cursor.next() ? time(cursor) : null;
        }
      }
      if (timestamp != Long.MIN_VALUE && cursor.seekFloor(versionKey(key, timestamp - 1))) {
        previous = cursor.key();
      }
    }
    if (wasDeleted) {
      view.delete(expiryKey(timestamp, versionKey)); // else it would delete the new version
    }
    view.put(versionKey, value == null ? DELETED : stored(value));
    if (previous != null) {
      view.put(expiryKey(timestamp, previous), NONE);
    }
    if (next != null) {
      view.put(expiryKey(next, versionKey), NONE);
    } else if (value == null) {
      view.put(expiryKey(timestamp, versionKey), NONE);
    }
    return next == null ? PUT_RETURN_CODE_VALID_TO_UNDEFINED : next;
  }

  /** What ends in an expired segment is not valid at any time that may be asked for. */
  private void deleteExpired(KvView view) {
    long live = segment(streamTime - retentionMillis);
    if (live <= firstSegment) {
      return;
    }
    byte[] from = segmentKey(firstSegment);
    byte[] to = segmentKey(live);
    try (KvCursor cursor = view.cursor(ScanOptions.range(from, to).keysOnly())) {
      while (cursor.next()) {
        byte[] key = cursor.key();
        byte[] versionKey = Arrays.copyOfRange(key, EXPIRY_PREFIX - 1, key.length);
        versionKey[0] = VERSION;
        view.delete(versionKey);
      }
    }
    view.deleteRange(from, to);
    firstSegment = live;
  }

  @Override
  void restore(
      Collection<ConsumerRecord<byte[], byte[]>> records,
      Writes writes,
      Consumer<ConsumerRecord<byte[], byte[]>> applied) {
    // Not through writes: each version is put by what those before it have left.
    keyspace()
        .restoreBuffered(
            view -> {
              for (ConsumerRecord<byte[], byte[]> record : records) {
                long timestamp = record.timestamp();
                if (timestamp >= streamTime - retentionMillis) {
                  streamTime = Math.max(streamTime, timestamp);
                  applied.accept(record);
                  put(view, record.key(), record.value(), timestamp);
                }
              }
            });
  }

  @Override
  @SuppressWarnings("unchecked") // the result of this query is that iterator
  public <R> QueryResult<R> query(Query<R> query, PositionBound positionBound, QueryConfig config) {
    if (query instanceof MultiVersionedKeyQuery<?, ?> versions) {
      return BasicQueries.answer(
          positionBound,
          config,
          this,
          keyspace().visiblePosition(),
          context(),
          () -> (R) versions((MultiVersionedKeyQuery<Bytes, byte[]>) versions));
    }
    return super.query(query, positionBound, config);
  }

  private VersionedRecordIterator<byte[]> versions(MultiVersionedKeyQuery<Bytes, byte[]> query) {
    List<VersionedRecord<byte[]>> found =
        versions(
            query.key(),
            query.fromTime().map(time -> time.toEpochMilli()).orElse(Long.MIN_VALUE),
            query.toTime().map(time -> time.toEpochMilli()).orElse(Long.MAX_VALUE));
    if (query.resultOrder() != ResultOrder.ASCENDING) {
      found = new ArrayList<>(found);
      Collections.reverse(found);
    }
    return new Versions(found.iterator());
  }

  private record Versions(Iterator<VersionedRecord<byte[]>> found)
      implements VersionedRecordIterator<byte[]> {
    @Override
    public boolean hasNext() {
      return found.hasNext();
    }

    @Override
    public VersionedRecord<byte[]> next() {
      return found.next();
    }

    @Override
    public void close() {}
  }

  private long segment(long time) {
    return Math.max(0, time) / segmentMillis;
  }

  private static byte[] segmentKey(long segment) {
    return ByteBuffer.allocate(EXPIRY_PREFIX).put(EXPIRY).putLong(segment).array();
  }

  private byte[] expiryKey(long time, byte[] versionKey) {
    return ByteBuffer.allocate(EXPIRY_PREFIX + versionKey.length - 1)
        .put(EXPIRY)
        .putLong(segment(time))
        .put(versionKey, 1, versionKey.length - 1)
        .array();
  }

  private static byte[] keyPrefix(byte[] key) {
    return ByteBuffer.allocate(1 + Integer.BYTES + key.length)
        .put(VERSION)
        .putInt(key.length)
        .put(key)
        .array();
  }

  private static byte[] versionKey(byte[] key, long time) {
    return ByteBuffer.allocate(1 + Integer.BYTES + key.length + Long.BYTES)
        .put(VERSION)
        .putInt(key.length)
        .put(key)
        .putLong(time ^ Long.MIN_VALUE)
        .array();
  }

  private static long time(KvCursor cursor) {
    ByteBuffer key = cursor.keyView();
    return key.getLong(key.limit() - Long.BYTES) ^ Long.MIN_VALUE;
  }

  private static byte[] stored(byte[] value) {
    byte[] stored = new byte[1 + value.length];
    stored[0] = 1;
    System.arraycopy(value, 0, stored, 1, value.length);
    return stored;
  }
}
