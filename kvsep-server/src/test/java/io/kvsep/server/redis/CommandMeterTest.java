package io.kvsep.server.redis;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.json.JsonText;
import io.kvsep.testing.Documents;
import io.kvsep.testing.Seeds;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands are counted once each, by kind, wherever they were carried out. */
final class CommandMeterTest {
  private static final int CLIENTS = 4;

  @TempDir Path directory;

  /** A command and how it counts; with a transaction, more than one. */
  private record Sample(String line, int reads, int writes, int others) {
    int replies() {
      return reads + writes + others;
    }
  }

  private static final List<Sample> SAMPLES =
      List.of(
          new Sample("GET a^", 1, 0, 0),
          new Sample("MGET a b c^", 1, 0, 0),
          new Sample("SET a 1^", 0, 1, 0),
          new Sample("DEL b^", 0, 1, 0),
          new Sample("INCR n^", 0, 1, 0),
          new Sample("PING^", 0, 0, 1),
          new Sample("SELECT 0^", 0, 0, 1),
          new Sample("NOSUCH a^", 0, 0, 1),
          new Sample("GET^", 1, 0, 0),
          new Sample("KEYS *^", 1, 0, 0),
          new Sample("MULTI^SET a 2^GET a^EXEC^", 1, 2, 1),
          new Sample("MULTI^INCR n^DISCARD^", 0, 1, 2));

  @Test
  void eachKindIsCountedWhereverItRuns() throws IOException {
    try (RunningRedis redis = RunningRedis.in(directory);
        RawClient client = redis.connect()) {
      Map<String, Long> expected = new TreeMap<>(Map.of("read", 0L, "write", 0L, "other", 0L));
      for (Sample sample : SAMPLES) {
        ask(client, List.of(sample));
        count(sample, expected);
        assertEquals(expected, counts(redis), sample::toString);
      }
    }
  }

  @Test
  void pipelinesOfManyClientsAreCountedToTheLast() throws Exception {
    try (RunningRedis redis = RunningRedis.in(directory)) {
      Map<String, Long> expected = new TreeMap<>(Map.of("read", 0L, "write", 0L, "other", 0L));
      Seeds.each(
          CommandMeterTest.class,
          3,
          random -> {
            List<Callable<Void>> clients = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
              List<Sample> pipeline = new ArrayList<>();
              for (int j = 0; j < 300; j++) {
                pipeline.add(SAMPLES.get(random.nextInt(SAMPLES.size())));
              }
              pipeline.forEach(sample -> count(sample, expected));
              long seed = random.nextLong();
              clients.add(
                  () -> {
                    try (RawClient client = redis.connect()) {
                      askInPieces(client, pipeline, new Random(seed));
                    }
                    return null;
                  });
            }
            run(clients);
            assertEquals(expected, counts(redis));
          });
    }
  }

  @Test
  void theRegistryHasTheSame() throws IOException {
    try (RunningRedis redis = RunningRedis.in(directory);
        RawClient client = redis.connect()) {
      SimpleMeterRegistry registry = new SimpleMeterRegistry();
      redis.server.bindTo(registry);
      client.ask("SET a 1");
      client.ask("GET a");
      client.ask("GET b");
      for (Map.Entry<String, Long> kind : counts(redis).entrySet()) {
        FunctionTimer timer =
            registry.find("kvsep.redis.commands").tag("operation", kind.getKey()).functionTimer();
        assertNotNull(timer);
        assertEquals(kind.getValue(), (long) timer.count(), kind.getKey());
      }
      assertEquals(Map.of("read", 2L, "write", 1L, "other", 0L), counts(redis));
      Set<String> documented = new TreeSet<>();
      for (List<String> row : Documents.rows("metrics.md", "meter of the server")) {
        documented.add(row.get(0));
      }
      documented.removeIf(name -> !name.startsWith("kvsep.redis."));
      Set<String> actual = new TreeSet<>();
      registry.getMeters().forEach(meter -> actual.add(meter.getId().getName()));
      assertEquals(documented, actual);
    }
  }

  private static void run(List<Callable<Void>> clients) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(clients.size());
    try {
      for (Future<Void> client : threads.invokeAll(clients)) {
        client.get();
      }
    } finally {
      threads.shutdown();
    }
  }

  private static void count(Sample sample, Map<String, Long> counts) {
    counts.merge("read", (long) sample.reads, Long::sum);
    counts.merge("write", (long) sample.writes, Long::sum);
    counts.merge("other", (long) sample.others, Long::sum);
  }

  /** A few commands at a time, so that replies do not wait for one another for long. */
  private static void askInPieces(RawClient client, List<Sample> pipeline, Random random)
      throws IOException {
    for (int from = 0; from < pipeline.size(); ) {
      int to = Math.min(pipeline.size(), from + 1 + random.nextInt(40));
      ask(client, pipeline.subList(from, to));
      from = to;
    }
  }

  private static void ask(RawClient client, List<Sample> samples) throws IOException {
    StringBuilder text = new StringBuilder();
    int replies = 0;
    for (Sample sample : samples) {
      text.append(sample.line);
      replies += sample.replies();
    }
    client.send(text.toString());
    for (int i = 0; i < replies; i++) {
      client.reply();
    }
  }

  /** How many of each kind; the histogram has as many. */
  private static Map<String, Long> counts(RunningRedis redis) {
    Map<String, Long> counts = new TreeMap<>();
    JsonText.object(redis.server.commands().toString())
        .forEach(
            (kind, value) -> {
              Map<?, ?> figures = (Map<?, ?>) value;
              long count = number(figures.get("count"));
              long inBuckets = 0;
              for (Object bucket : (List<?>) requireNonNull(figures.get("microsBelowPowerOfTwo"))) {
                inBuckets += number(bucket);
              }
              assertEquals(count, inBuckets, kind);
              assertTrue(count == 0 || number(figures.get("nanos")) > 0, kind);
              counts.put(kind, count);
            });
    return counts;
  }

  private static long number(@Nullable Object value) {
    return ((Number) requireNonNull(value)).longValue();
  }
}
