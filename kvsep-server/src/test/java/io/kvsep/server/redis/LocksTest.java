package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks for clients without scripts: what is changed only where it is as expected. */
final class LocksTest {
  private static final long NOW = 1_000_000_000_000L;

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(NOW);
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory, clock, options -> options);
    client = redis.connect();
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    redis.close();
  }

  private void all(String... linesAndReplies) throws IOException {
    for (int i = 0; i < linesAndReplies.length; i += 2) {
      client.expect(linesAndReplies[i], linesAndReplies[i + 1]);
    }
  }

  @Test
  void aKeyIsSetIfItHasTheExpectedValue() throws IOException {
    all(
        "SET a 1 IFEQ 1", "$-1^",
        "EXISTS a", ":0^",
        "SET a 1", "+OK^",
        "SET a 2 IFEQ 3", "$-1^",
        "SET a 2 IFEQ 11", "$-1^",
        "GET a", "$1^1^",
        "SET a 2 IFEQ 1", "+OK^",
        "SET a 3 ifeq 2 get", "$1^2^",
        "SET a 4 GET IFEQ 2", "$1^3^",
        "GET a", "$1^3^",
        "SET none 4 GET IFEQ 2", "$-1^",
        "EXISTS none", ":0^",
        "SET a 5 PX 1000 IFEQ 3", "+OK^",
        "PTTL a", ":1000^",
        "SET a 6 IFEQ 5 KEEPTTL", "+OK^",
        "PTTL a", ":1000^",
        "SET a \"\" IFEQ 6", "+OK^",
        "SET a 7 IFEQ \"\"", "+OK^",
        "SET a 1 IFEQ", "-ERR syntax error^",
        "SET a 1 IFEQ 7 NX", "-ERR syntax error^",
        "SET a 1 XX IFEQ 7", "-ERR syntax error^",
        "SET a 1 IFEQ 7 IFEQ 7", "-ERR syntax error^",
        "GET a", "$1^7^");
  }

  @Test
  void aKeyIsDeletedIfItHasTheExpectedValue() throws IOException {
    all(
        "DELIFEQ a 1", ":0^",
        "SET a 1", "+OK^",
        "DELIFEQ a 2", ":0^",
        "DELIFEQ a 11", ":0^",
        "GET a", "$1^1^",
        "DELIFEQ a 1", ":1^",
        "EXISTS a", ":0^",
        "DELIFEQ a", "-ERR wrong number of arguments for 'delifeq' command^",
        "SET a 1 PX 10", "+OK^");
    clock.advance(10);
    client.expect("DELIFEQ a 1", ":0^");
  }

  /** As a lock is taken, prolonged and given back by others at the same time. */
  @Test
  void oneOfManyGetsALockAndNoOtherGivesItBack() throws Exception {
    int owners = 4;
    ExecutorService threads = Executors.newFixedThreadPool(owners);
    try {
      List<Future<Integer>> held = new ArrayList<>();
      for (int i = 0; i < owners; i++) {
        held.add(threads.submit(owner("owner" + i)));
      }
      int all = 0;
      for (Future<Integer> each : held) {
        all += each.get();
      }
      client.expect("GET turns", "$3^" + all + "^");
      client.expect("EXISTS lock", ":0^");
    } finally {
      threads.shutdownNow();
    }
  }

  /** Counts under the lock in two steps, which others would get between. */
  private Callable<Integer> owner(String name) {
    return () -> {
      int held = 0;
      try (RawClient own = redis.connect()) {
        while (held < 25) {
          if (own.ask("SET lock " + name + " NX PX 60000").equals("+OK^")) {
            String old = own.ask("GET turns");
            int turns = old.equals("$-1^") ? 0 : Integer.parseInt(old.split("\\^", -1)[1]);
            assertEquals("+OK^", own.ask("SET turns " + (turns + 1)));
            assertEquals(":0^", own.ask("DELIFEQ lock other"));
            assertEquals("+OK^", own.ask("SET lock " + name + " IFEQ " + name + " PX 60000"));
            assertEquals(":1^", own.ask("DELIFEQ lock " + name));
            held++;
          }
        }
      }
      return held;
    };
  }
}
