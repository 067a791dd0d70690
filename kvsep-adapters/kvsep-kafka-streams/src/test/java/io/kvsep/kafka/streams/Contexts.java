package io.kvsep.kafka.streams;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.internals.MockStreamsMetrics;
import org.apache.kafka.streams.state.internals.ThreadCache;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.apache.kafka.test.MockRecordCollector;

/** Contexts of state stores without a broker. */
final class Contexts {
  private Contexts() {}

  /** A context of task 0_0 whose state is in a folder. */
  static InternalMockProcessorContext<?, ?> in(Path stateDirectory, Map<String, ?> configuration)
      throws Exception {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory.toString());
    properties.putAll(configuration);
    Path task = Files.createDirectories(stateDirectory.resolve("test").resolve("0_0"));
    InternalMockProcessorContext<?, ?> context =
        new InternalMockProcessorContext<>(
            task.toFile(),
            Serdes.Bytes(),
            Serdes.ByteArray(),
            new MockRecordCollector(),
            new ThreadCache(new LogContext(), 0, new MockStreamsMetrics(new Metrics())),
            new StreamsConfig(properties));
    context.setTime(1L);
    return context;
  }
}
