package io.kvsep.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.errors.TaskCorruptedException;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A topology whose process ends between a commit and the close of its stores, continued with the
 * files it left, puts out what it puts out with RocksDB when nothing happens.
 */
final class CrashedTopologyTest {
  private static final List<KeyValue<String, Long>> INPUT = new ArrayList<>();

  static {
    Random random = new Random(7);
    long time = 0;
    for (int i = 0; i < 300; i++) {
      time += random.nextInt(1_500);
      INPUT.add(KeyValue.pair("k" + random.nextInt(9), Math.max(0, time - random.nextInt(4_000))));
    }
  }

  private static final List<KeyValue<String, Long>> BEFORE = INPUT.subList(0, 150);
  private static final List<KeyValue<String, Long>> AFTER = INPUT.subList(150, 300);

  @TempDir private Path directory;

  private boolean transactional;

  private static Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, String> in = builder.stream("in");
    Duration size = Duration.ofSeconds(10);
    Duration grace = Duration.ofSeconds(2);
    List<KStream<?, String>> outs = new ArrayList<>();
    outs.add(in.groupByKey().count().toStream().mapValues(count -> "count " + count));
    outs.add(
        in.groupByKey()
            .windowedBy(TimeWindows.ofSizeAndGrace(size, grace))
            .count()
            .toStream()
            .mapValues(count -> "window " + count));
    outs.add(
        in.groupByKey()
            .windowedBy(TimeWindows.ofSizeAndGrace(size, grace))
            .emitStrategy(EmitStrategy.onWindowClose())
            .count()
            .toStream()
            .mapValues(count -> "closed window " + count));
    outs.add(
        in.groupByKey()
            .windowedBy(TimeWindows.ofSizeAndGrace(size, grace).advanceBy(Duration.ofSeconds(3)))
            .emitStrategy(EmitStrategy.onWindowClose())
            .count()
            .toStream()
            .mapValues(count -> "closed hopping window " + count));
    outs.add(
        in.groupByKey()
            .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(size, grace))
            .emitStrategy(EmitStrategy.onWindowClose())
            .count()
            .toStream()
            .mapValues(count -> "closed sliding window " + count));
    outs.add(
        in.groupByKey()
            .windowedBy(SessionWindows.ofInactivityGapAndGrace(size, grace))
            .count()
            .toStream()
            .mapValues(count -> "session " + count));
    outs.add(
        in.groupByKey()
            .windowedBy(SessionWindows.ofInactivityGapAndGrace(size, grace))
            .emitStrategy(EmitStrategy.onWindowClose())
            .count()
            .toStream()
            .mapValues(count -> "closed session " + count));
    KStream<String, String> other = builder.stream("other");
    outs.add(
        in.outerJoin(
            other,
            (left, right) -> "join " + left + " " + right,
            JoinWindows.ofTimeDifferenceAndGrace(size, grace)));
    for (KStream<?, String> out : outs) {
      out.map((key, value) -> KeyValue.pair(String.valueOf(key), value)).to("out");
    }
    return builder.build();
  }

  private Properties configuration(
      Path folder, String guarantee, Class<? extends DslStoreSuppliers> stores) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
    properties.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, stores);
    properties.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0);
    properties.put(
        StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_OUTER_JOIN_SPURIOUS_RESULTS_FIX, 0);
    if (transactional) {
      properties.put(StoreSettings.TRANSACTIONAL_CONFIG, "true");
    }
    return properties;
  }

  private static List<KeyValue<String, String>> pipe(
      TopologyTestDriver driver, List<KeyValue<String, Long>> input) {
    TestInputTopic<String, String> in =
        driver.createInputTopic("in", new StringSerializer(), new StringSerializer());
    TestInputTopic<String, String> other =
        driver.createInputTopic("other", new StringSerializer(), new StringSerializer());
    for (KeyValue<String, Long> record : input) {
      in.pipeInput(record.key, "v" + record.value, record.value);
      if (record.value % 3 == 0) {
        other.pipeInput(record.key, "o" + record.value, record.value);
      }
    }
    return driver
        .createOutputTopic("out", new StringDeserializer(), new StringDeserializer())
        .readKeyValuesToList();
  }

  /** Output with RocksDB and without a crash, before and after the moment of the crash. */
  private List<List<KeyValue<String, String>>> expected(String guarantee) {
    Properties configuration =
        configuration(
            directory.resolve("rocksdb"),
            guarantee,
            BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers.class);
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), configuration)) {
      return List.of(pipe(driver, BEFORE), pipe(driver, AFTER));
    }
  }

  /** The files as they are after the first half of the input. */
  private Path crash(String guarantee, List<KeyValue<String, String>> expected) throws Exception {
    Path live = Files.createDirectories(directory.resolve("live"));
    try (TopologyTestDriver driver =
        new TopologyTestDriver(
            topology(), configuration(live, guarantee, KvsepStoreSuppliers.class))) {
      assertEquals(expected, pipe(driver, BEFORE));
      return Folders.copy(live, directory.resolve("crashed"));
    }
  }

  @Test
  void atLeastOnceGoesOn() throws Exception {
    String guarantee = StreamsConfig.AT_LEAST_ONCE;
    List<List<KeyValue<String, String>>> expected = expected(guarantee);
    Path crashed = crash(guarantee, expected.get(0));
    try (TopologyTestDriver driver =
        new TopologyTestDriver(
            topology(), configuration(crashed, guarantee, KvsepStoreSuppliers.class))) {
      // Processors forget their stream time in a crash, so the kinds differ in what they drop.
      assertEquals(ofKind(expected.get(1), "count"), ofKind(pipe(driver, AFTER), "count"));
    }
  }

  @Test
  void exactlyOnceBeginsAgain() throws Exception {
    String guarantee = StreamsConfig.EXACTLY_ONCE_V2;
    List<List<KeyValue<String, String>>> expected = expected(guarantee);
    Path crashed = crash(guarantee, expected.get(0));
    Properties configuration = configuration(crashed, guarantee, KvsepStoreSuppliers.class);
    assertThrows(
        TaskCorruptedException.class,
        () -> new TopologyTestDriver(topology(), configuration).close());
    // What Kafka does then; the changelog, which the driver does not have, is the whole input.
    Folders.delete(crashed.resolve("test/0_0"));
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), configuration)) {
      assertEquals(expected.get(0), pipe(driver, BEFORE));
      assertEquals(expected.get(1), pipe(driver, AFTER));
    }
  }

  /** Kafka reads the topic of the table from its beginning; the driver's is empty. */
  @Test
  void exactlyOnceStartsWithGlobalTable() throws Exception {
    StreamsBuilder builder = new StreamsBuilder();
    builder.globalTable("in", Materialized.as("table"));
    Topology topology = builder.build();
    String guarantee = StreamsConfig.EXACTLY_ONCE_V2;
    Path live = Files.createDirectories(directory.resolve("live"));
    Path crashed = directory.resolve("crashed");
    try (TopologyTestDriver driver =
        new TopologyTestDriver(
            topology, configuration(live, guarantee, KvsepStoreSuppliers.class))) {
      driver
          .createInputTopic("in", new StringSerializer(), new StringSerializer())
          .pipeInput("a", "1");
      assertEquals("1", driver.getKeyValueStore("table").get("a"));
      Folders.copy(live, crashed);
    }
    try (TopologyTestDriver driver =
        new TopologyTestDriver(
            topology, configuration(crashed, guarantee, KvsepStoreSuppliers.class))) {
      assertNull(driver.getKeyValueStore("table").get("a"));
    }
  }

  /** Needs Kafka 4.4, which the build does not have: run by hand with its jars. */
  @Test
  void exactlyOnceGoesOnWithTransactionalStores() throws Exception {
    assumeTrue(StoreSettings.HAS_TRANSACTIONS, "Kafka 4.4");
    transactional = true;
    String guarantee = StreamsConfig.EXACTLY_ONCE_V2;
    List<List<KeyValue<String, String>>> expected = expected(guarantee);
    Path crashed = crash(guarantee, expected.get(0));
    try (TopologyTestDriver driver =
        new TopologyTestDriver(
            topology(), configuration(crashed, guarantee, KvsepStoreSuppliers.class))) {
      assertEquals(ofKind(expected.get(1), "count"), ofKind(pipe(driver, AFTER), "count"));
    }
  }

  private static List<KeyValue<String, String>> ofKind(
      List<KeyValue<String, String>> output, String kind) {
    return output.stream().filter(record -> record.value.startsWith(kind)).toList();
  }
}
