package io.kvsep.kafka.streams;

import java.util.Collection;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ChangelogRecordDeserializationHelper;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.query.Position;

/** What restoring needs of Kafka's internal classes. */
final class Changelog {
  private Changelog() {}

  /** {@return a callback that gets records in batches, with their headers} */
  static StateRestoreCallback callback(
      Consumer<Collection<ConsumerRecord<byte[], byte[]>>> restore) {
    return (RecordBatchingStateRestoreCallback) restore::accept;
  }

  /** {@return whether records carry the position of the store that wrote them} */
  static boolean hasPositions(StateStoreContext context) {
    return StreamsConfig.InternalConfig.getBoolean(
        context.appConfigs(),
        StreamsConfig.InternalConfig.IQ_CONSISTENCY_OFFSET_VECTOR_ENABLED,
        false);
  }

  static void updatePosition(ConsumerRecord<byte[], byte[]> record, Position position) {
    ChangelogRecordDeserializationHelper.applyChecksAndUpdatePosition(record, true, position);
  }
}
