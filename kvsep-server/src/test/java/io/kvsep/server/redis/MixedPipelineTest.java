package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Pipelines in which commands for the event loop, for its lane and for other threads follow each
 * other at random, from several clients at once, cut into pieces anywhere: each reply is the right
 * one, in its place.
 */
final class MixedPipelineTest {
  private static final int CLIENTS = 4;

  @TempDir Path directory;

  /** What one client has sent, and what is to come back. */
  private static final class Pipeline {
    final StringBuilder sent = new StringBuilder();
    final List<String> names = new ArrayList<>();
    final List<String> replies = new ArrayList<>();
    private final Random random;

    Pipeline(Random random) {
      this.random = random;
    }

    void add(String reply, String... words) {
      String text = String.join(" ", words);
      boolean isLine = text.length() < 1000 && random.nextInt(3) == 0;
      sent.append(isLine ? text + "^" : RawClient.array(words));
      names.add(text.substring(0, Math.min(60, text.length())));
      replies.add(reply);
    }
  }

  /** The keys of one client, in the databases it uses. */
  private static final class Model {
    private final String prefix;
    private final List<Map<String, String>> databases = List.of(new TreeMap<>(), new TreeMap<>());
    private int database;

    Model(String prefix) {
      this.prefix = prefix;
    }

    Map<String, String> values() {
      return databases.get(database);
    }

    String key(Random random) {
      return prefix + random.nextInt(5);
    }
  }

  @Test
  void repliesComeInOrder() throws Exception {
    try (RunningRedis redis = RunningRedis.in(directory)) {
      Seeds.each(MixedPipelineTest.class, 6, random -> run(redis, random, 25));
    }
  }

  /** Every write has to leave the loop there. */
  @Test
  void repliesComeInOrderWhereEachWriteIsSynced() throws Exception {
    KvOptions options = KvOptions.builder().durability(Durability.sync()).build();
    try (RunningRedis redis = RunningRedis.in(directory, options, redisOptions -> redisOptions)) {
      Seeds.each(MixedPipelineTest.class, 3, random -> run(redis, random, 8));
    }
  }

  private static void run(RunningRedis redis, Random random, int rounds) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);
    try {
      List<Future<?>> done = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        Model model = new Model((char) ('a' + i) + "-");
        Random own = new Random(random.nextLong());
        Callable<Boolean> work = () -> talk(redis, model, own, rounds);
        done.add(threads.submit(work));
      }
      for (Future<?> each : done) {
        each.get(60, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
    try (RawClient client = redis.connect()) {
      client.expect("FLUSHALL", "+OK^");
    }
  }

  private static boolean talk(RunningRedis redis, Model model, Random random, int rounds)
      throws IOException, InterruptedException {
    try (RawClient client = redis.connect()) {
      for (int round = 0; round < rounds; round++) {
        Pipeline pipeline = new Pipeline(random);
        for (int i = random.nextInt(40); i >= 0; i--) {
          switch (random.nextInt(12)) {
            case 0 -> transaction(pipeline, model, random);
            case 1, 2 -> laneCommand(pipeline, model, random);
            case 3 -> refused(pipeline, random);
            default -> quickCommand(pipeline, model, random);
          }
        }
        Random cuts = new Random(random.nextLong());
        byte[] bytes = pipeline.sent.toString().replace("^", "\r\n").getBytes(ISO_8859_1);
        Thread sender = new Thread(() -> send(client, bytes, cuts));
        sender.start();
        for (int i = 0; i < pipeline.replies.size(); i++) {
          assertEquals(pipeline.replies.get(i), client.reply(), pipeline.names.get(i));
        }
        sender.join();
      }
    }
    return true;
  }

  private static void send(RawClient client, byte[] bytes, Random random) {
    int from = 0;
    try {
      while (from < bytes.length) {
        int most = random.nextInt(4) == 0 ? 50 : bytes.length;
        int to = Math.min(bytes.length, from + 1 + random.nextInt(most));
        client.send(Arrays.copyOfRange(bytes, from, to));
        from = to;
      }
    } catch (IOException e) {
      // The client that waits for the replies says so.
      return;
    }
  }

  private static void quickCommand(Pipeline pipeline, Model model, Random random) {
    Map<String, String> values = model.values();
    String key = model.key(random);
    String other = model.key(random);
    String value = values.get(key);
    switch (random.nextInt(10)) {
      case 0, 1, 2 -> pipeline.add(bulk(value), "GET", key);
      case 3, 4 -> {
        values.put(key, "v" + random.nextInt(100_000));
        pipeline.add("+OK^", "SET", key, values.getOrDefault(key, ""));
      }
      case 5 -> pipeline.add("*2^" + bulk(value) + bulk(values.get(other)), "MGET", key, other);
      case 6 -> {
        int count = (value == null ? 0 : 1) + (values.containsKey(other) ? 1 : 0);
        pipeline.add(":" + count + "^", "EXISTS", key, other);
      }
      case 7 -> pipeline.add(value == null ? ":-2^" : ":-1^", "TTL", key);
      case 8 -> {
        model.database = random.nextInt(2);
        pipeline.add("+OK^", "SELECT", model.database == 0 ? "0" : "7");
      }
      default -> {
        String marker = "m" + random.nextInt(1000);
        pipeline.add(bulk(marker), "ECHO", marker);
      }
    }
  }

  private static void laneCommand(Pipeline pipeline, Model model, Random random) {
    Map<String, String> values = model.values();
    String key = model.key(random);
    String value = values.get(key);
    switch (random.nextInt(6)) {
      case 0 -> {
        values.remove(key);
        pipeline.add(value == null ? ":0^" : ":1^", "DEL", key);
      }
      case 1 -> {
        String text = (value == null ? "" : value) + "x";
        values.put(key, text);
        pipeline.add(":" + text.length() + "^", "APPEND", key, "x");
      }
      case 2 -> {
        values.put(key, "w".repeat(60_000 + random.nextInt(90_000)));
        pipeline.add("+OK^", "SET", key, values.getOrDefault(key, ""));
      }
      case 3 -> {
        StringBuilder keys = new StringBuilder("*" + values.size() + "^");
        values.keySet().forEach(each -> keys.append(bulk(each)));
        pipeline.add(keys.toString(), "KEYS", model.prefix + "*");
      }
      case 4 -> {
        values.put(key, "s");
        pipeline.add(bulk(value), "GETSET", key, "s");
      }
      default -> {
        values.putIfAbsent(key, "n");
        pipeline.add(value == null ? ":1^" : ":0^", "SETNX", key, "n");
      }
    }
  }

  private static void transaction(Pipeline pipeline, Model model, Random random) {
    String key = model.key(random);
    pipeline.add("+OK^", "WATCH", key);
    pipeline.add("+OK^", "MULTI");
    pipeline.add("+QUEUED^", "SET", key, "t");
    pipeline.add("+QUEUED^", "GET", key);
    if (random.nextInt(4) == 0) {
      pipeline.add("+OK^", "DISCARD");
    } else {
      model.values().put(key, "t");
      pipeline.add("*2^+OK^$1^t^", "EXEC");
    }
  }

  private static void refused(Pipeline pipeline, Random random) {
    switch (random.nextInt(3)) {
      case 0 ->
          pipeline.add("-ERR unknown command 'NOPE', with args beginning with: 'a' ^", "NOPE", "a");
      case 1 -> pipeline.add("-ERR wrong number of arguments for 'get' command^", "GET");
      default -> pipeline.add("-ERR syntax error^", "SET", "k", "v", "maybe");
    }
  }

  private static String bulk(@Nullable String text) {
    return text == null ? "$-1^" : "$" + text.length() + "^" + text + "^";
  }
}
