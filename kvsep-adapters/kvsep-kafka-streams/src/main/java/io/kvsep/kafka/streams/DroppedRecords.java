package io.kvsep.kafka.streams;

import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;
import org.apache.kafka.streams.processor.internals.metrics.TaskMetrics;
import org.jspecify.annotations.Nullable;

/** Kafka's metric of records that came too late, which only an internal class gives. */
final class DroppedRecords {
  private final @Nullable Sensor sensor;

  DroppedRecords(StateStoreContext context) {
    sensor =
        context.metrics() instanceof StreamsMetricsImpl metrics
            ? TaskMetrics.droppedRecordsSensor(
                Thread.currentThread().getName(), context.taskId().toString(), metrics)
            : null;
  }

  void record() {
    if (sensor != null) {
      sensor.record();
    }
  }
}
