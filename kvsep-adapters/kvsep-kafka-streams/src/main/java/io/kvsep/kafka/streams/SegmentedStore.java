package io.kvsep.kafka.streams;

import java.util.Collection;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.jspecify.annotations.Nullable;

/**
 * A store whose entries expire: windows or sessions. The highest time written is the stream time;
 * what is older than that by more than the retention is no longer returned. Segments that are old
 * as a whole are deleted by one range deletion.
 */
abstract class SegmentedStore extends KvsepStore {
  private static final byte[] NONE = {};

  private final SegmentLayout layout;
  private final long retentionMillis;

  /**
   * How much longer entries are returned: when windows close at the end of the retention, the ones
   * that close now must still be there.
   */
  private final long extraMillis;

  private volatile long streamTime = ConsumerRecord.NO_TIMESTAMP;

  /** Everything before this time is deleted. */
  private long deletedBefore;

  private @Nullable DroppedRecords droppedRecords;

  SegmentedStore(String name, long retentionMillis, long extraMillis, SegmentLayout layout) {
    super(name);
    this.retentionMillis = retentionMillis;
    this.extraMillis = extraMillis;
    this.layout = layout;
  }

  @Override
  void beforeOpen(StateStoreContext stateStoreContext) {
    droppedRecords = new DroppedRecords(stateStoreContext);
    deletedBefore = 0; // what is opened may be older than what was closed
  }

  SegmentLayout layout() {
    return layout;
  }

  /** {@return {@code from}, or the first time that has not expired if that is later} */
  long notExpired(long from) {
    return Math.max(from, streamTime - retentionMillis + 1 - extraMillis);
  }

  byte @Nullable [] get(byte[] storeKey) {
    long time = layout.time(storeKey);
    return time < notExpired(time) || !isOpen() ? null : keyspace().get(layout.dataKey(storeKey));
  }

  void put(byte[] storeKey, byte @Nullable [] value) {
    long time = layout.time(storeKey);
    streamTime = Math.max(streamTime, time);
    if (isExpired(time)) {
      if (droppedRecords != null) {
        droppedRecords.record();
      }
      LOG.debug("Dropping a record of store {}: its segment has expired", name());
      return;
    }
    if (layout.indexed() || firstLiveTime() > deletedBefore) {
      keyspace()
          .write(
              writes -> {
                deleteExpired(writes);
                add(writes, storeKey, value);
              });
    } else {
      keyspace().put(layout.dataKey(storeKey), value);
    }
    updatePosition();
  }

  void remove(byte[] storeKey) {
    streamTime = Math.max(streamTime, layout.time(storeKey));
    if (layout.indexed()) {
      keyspace().write(writes -> add(writes, storeKey, null));
    } else {
      keyspace().put(layout.dataKey(storeKey), null);
    }
  }

  @Override
  void restore(
      Collection<ConsumerRecord<byte[], byte[]>> records,
      Writes writes,
      Consumer<ConsumerRecord<byte[], byte[]>> applied) {
    long highest = streamTime;
    for (ConsumerRecord<byte[], byte[]> record : records) {
      highest = Math.max(highest, layout.time(record.key()));
    }
    streamTime = highest;
    deleteExpired(writes);
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (!isExpired(layout.time(record.key()))) {
        add(writes, record.key(), record.value());
        applied.accept(record);
      }
    }
  }

  private void add(Writes writes, byte[] storeKey, byte @Nullable [] value) {
    if (value == null) {
      writes.delete(layout.dataKey(storeKey));
      if (layout.indexed()) {
        writes.delete(layout.indexKey(storeKey));
      }
    } else {
      writes.put(layout.dataKey(storeKey), value);
      if (layout.indexed()) {
        writes.put(layout.indexKey(storeKey), NONE);
      }
    }
  }

  private boolean isExpired(long time) {
    return time / layout.segmentMillis() < (streamTime - retentionMillis) / layout.segmentMillis();
  }

  /** {@return the start of the first segment that has not expired} */
  private long firstLiveTime() {
    long time = Math.max(0, streamTime - retentionMillis);
    return time - time % layout.segmentMillis();
  }

  private void deleteExpired(Writes writes) {
    long time = firstLiveTime();
    if (time <= deletedBefore) {
      return;
    }
    deleteBuckets(writes, SegmentLayout.DATA, time);
    if (layout.indexed()) {
      deleteBuckets(writes, SegmentLayout.INDEX, time);
    }
    deletedBefore = time;
  }

  private void deleteBuckets(Writes writes, byte tag, long before) {
    long first = layout.bucket(tag, deletedBefore);
    long end = layout.bucket(tag, before);
    if (first < end) {
      writes.deleteRange(
          SegmentLayout.bucketKey(tag, first, NONE), SegmentLayout.bucketKey(tag, end, NONE));
    }
  }
}
