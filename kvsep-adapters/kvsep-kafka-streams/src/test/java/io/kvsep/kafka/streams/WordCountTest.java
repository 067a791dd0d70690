package io.kvsep.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program of docs/guide/kafka-streams.md. */
final class WordCountTest {
  private static Topology wordCount() {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, String> lines = builder.stream("lines");
    lines
        .flatMapValues(line -> List.of(line.toLowerCase(Locale.ROOT).split(" ")))
        .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
        .count(Materialized.as("counts"))
        .toStream()
        .to("counts", Produced.with(Serdes.String(), Serdes.Long()));
    return builder.build();
  }

  private static Properties configuration(Path directory) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "word-count");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, directory.toString());
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, KvsepStoreSuppliers.class);
    return properties;
  }

  @Test
  void oneLineOfConfigurationMovesTopologyToKvsep(@TempDir Path directory) {
    Properties properties = configuration(directory);
    try (TopologyTestDriver driver = new TopologyTestDriver(wordCount(), properties)) {
      send(driver, "to be or not to be");
      assertEquals(
          Map.of("to", 2L, "be", 2L, "or", 1L, "not", 1L),
          driver
              .createOutputTopic("counts", new StringDeserializer(), new LongDeserializer())
              .readKeyValuesToMap());
      ReadOnlyKeyValueStore<String, Object> counts = driver.getKeyValueStore("counts");
      assertNull(counts.get("that"));
      assertTrue(Files.isDirectory(directory.resolve("word-count/.kvsep")));
      assertTrue(Files.isDirectory(directory.resolve("word-count/0_0/kvsep/counts")));
      assertTrue(Files.notExists(directory.resolve("word-count/0_0/rocksdb")));
    }
  }

  private static void send(TopologyTestDriver driver, String line) {
    TestInputTopic<String, String> lines =
        driver.createInputTopic("lines", new StringSerializer(), new StringSerializer());
    lines.pipeInput(line);
  }
}
