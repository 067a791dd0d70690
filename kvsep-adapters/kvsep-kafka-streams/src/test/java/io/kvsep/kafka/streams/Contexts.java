package io.kvsep.kafka.streams;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.internals.MockStreamsMetrics;
import org.apache.kafka.streams.state.internals.ThreadCache;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.apache.kafka.test.MockRecordCollector;

/** Contexts of state stores without a broker, and their folders. */
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

  /** {@return the copy of a folder} */
  static Path copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
    return to;
  }

  static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
