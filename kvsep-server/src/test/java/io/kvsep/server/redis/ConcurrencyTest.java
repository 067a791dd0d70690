package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many clients at once, on several event loops, and users of the store in the same process. */
final class ConcurrencyTest {
  private static final int CLIENTS = 6;

  @TempDir Path directory;
  private final ExecutorService threads = Executors.newFixedThreadPool(CLIENTS + 1);
  private RunningRedis redis;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory);
  }

  @AfterEach
  void close() {
    threads.shutdownNow();
    redis.close();
  }

  @Test
  void everyIncrementCounts() throws Exception {
    int each = 400;
    List<Future<?>> done = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      done.add(
          start(
              client -> {
                for (int j = 0; j < each; j += 4) {
                  client.send("INCR n^INCR n^SET other x^INCR n^INCR n^");
                  for (int k = 0; k < 5; k++) {
                    client.reply();
                  }
                }
              }));
    }
    byte[] key = "n".getBytes(UTF_8);
    for (int i = 0; i < each; i++) {
      redis.store.transact(
          transaction -> {
            byte[] old = transaction.get(key);
            long next = old == null ? 1 : Numbers.integer(old) + 1;
            transaction.put(key, Numbers.text(next));
            return null;
          });
    }
    await(done);

    assertEquals(
        (CLIENTS + 1L) * each, Numbers.integer(Objects.requireNonNull(redis.store.get(key))));
  }

  @Test
  void ofThoseWhoWatchTheSameKeyOneWins() throws Exception {
    CyclicBarrier watched = new CyclicBarrier(CLIENTS);
    int rounds = 20;
    List<Future<Integer>> wins = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      Callable<Integer> work =
          () -> {
            int won = 0;
            try (RawClient client = redis.connect()) {
              for (int round = 0; round < rounds; round++) {
                client.expect("WATCH w" + round, "+OK^");
                watched.await(60, TimeUnit.SECONDS);
                client.send("MULTI^INCR w" + round + "^EXEC^");
                client.reply();
                client.reply();
                won += client.reply().equals("*1^:1^") ? 1 : 0;
              }
            }
            return won;
          };
      wins.add(threads.submit(work));
    }
    int total = 0;
    for (Future<Integer> each : wins) {
      total += each.get(60, TimeUnit.SECONDS);
    }

    assertEquals(rounds, total);
  }

  @Test
  void aUserOfTheStoreBreaksAWatchAsWell() throws IOException {
    byte[] key = "k".getBytes(UTF_8);
    try (RawClient client = redis.connect()) {
      client.expect("SET k 1", "+OK^");
      client.expect("WATCH k", "+OK^");
      redis.store.put(key, "1".getBytes(UTF_8));
      client.expect("MULTI", "+OK^");
      client.expect("SET k 2", "+QUEUED^");
      client.expect("EXEC", "*-1^");
    }
  }

  @Test
  void aTransactionThatWatchesNothingNeverFails() throws Exception {
    List<Future<?>> done = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      done.add(
          start(
              client -> {
                for (int j = 0; j < 50; j++) {
                  client.send("MULTI^INCR x^INCR y^EXEC^");
                  client.reply();
                  client.reply();
                  client.reply();
                  String reply = client.reply();
                  assertTrue(reply.matches("\\*2\\^:(\\d+)\\^:\\1\\^"), reply);
                }
              }));
    }
    await(done);

    try (RawClient client = redis.connect()) {
      client.expect("GET y", "$3^300^");
    }
  }

  @Test
  void clientsOfASyncedStoreShareCommits() throws Exception {
    redis.close();
    redis =
        RunningRedis.in(
            directory,
            KvOptions.builder().durability(io.kvsep.Durability.sync()).build(),
            options -> options);
    StringBuilder sets = new StringBuilder();
    for (int i = 0; i < 500; i++) {
      sets.append("SET k").append(i).append(" v^");
    }
    try (RawClient client = redis.connect()) {
      client.send(sets.toString());
      for (int i = 0; i < 500; i++) {
        assertEquals("+OK^", client.reply());
      }
    }

    assertTrue(redis.store.stats().commits() < 100, () -> "" + redis.store.stats().commits());
    assertTrue(redis.store.stats().syncs() < 150, () -> "" + redis.store.stats().syncs());
  }

  private interface Work {
    void with(RawClient client) throws Exception;
  }

  private Future<?> start(Work work) {
    Callable<Boolean> call =
        () -> {
          try (RawClient client = redis.connect()) {
            work.with(client);
          }
          return true;
        };
    return threads.submit(call);
  }

  private static void await(List<Future<?>> done) throws Exception {
    for (Future<?> each : done) {
      each.get(60, TimeUnit.SECONDS);
    }
  }
}
