package io.kvsep.cluster.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Clients that call nodes at random, each one call after the other, and record what they see. Every
 * written value is another one. Half of a client's calls go to one node, whatever happens to it:
 * that is who notices an old leader.
 */
final class Clients implements AutoCloseable {
  /** Sends a line to a node; see {@link ClusterNode} for what is answered. */
  interface Nodes {
    int count();

    CompletableFuture<String> ask(int node, String... words);
  }

  private static final long JOIN_MILLIS_MAX = 60_000;

  private final Nodes nodes;
  private final History history;
  private final String read;
  private final long answerMillisMax;
  private final int keys;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicInteger lastClient = new AtomicInteger();
  private final AtomicInteger lastValue = new AtomicInteger();
  private final AtomicInteger acknowledged = new AtomicInteger();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  /** What was seen last, as a guess for compare-and-set. */
  private final Map<String, String> seen = new ConcurrentHashMap<>();

  private volatile boolean stopped;

  /**
   * @param read the word that asks for a value, such as {@code get}
   * @param answerMillisMax after which a client gives up and begins anew
   */
  Clients(Nodes nodes, History history, String read, int keys, long answerMillisMax) {
    this.nodes = nodes;
    this.history = history;
    this.read = read;
    this.keys = keys;
    this.answerMillisMax = answerMillisMax;
  }

  void start(int clients, long seed) {
    for (int i = 0; i < clients; i++) {
      Random random = new Random(seed * 31 + i);
      int home = i % nodes.count();
      Thread thread = new Thread(() -> run(random, home), "client-" + i);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
  }

  private void run(Random random, int home) {
    try {
      int client = lastClient.incrementAndGet();
      while (!stopped) {
        int node = random.nextBoolean() ? home : random.nextInt(nodes.count());
        if (!call(client, node, random)) {
          client = lastClient.incrementAndGet();
        }
      }
    } catch (Throwable e) {
      failure.compareAndSet(null, e);
    }
  }

  /** Returns whether the outcome is known. */
  private boolean call(int client, int node, Random random) throws InterruptedException {
    String key = "k" + random.nextInt(keys);
    String value = "v" + lastValue.incrementAndGet();
    String expected = seen.get(key);
    return switch (random.nextInt(8)) {
      case 0, 1, 2 -> ended(history.get(client, key), key, node, read, key);
      case 3, 4, 5 -> ended(history.put(client, key, value), key, node, "put", key, value);
      case 6 -> ended(history.delete(client, key), key, node, "delete", key);
      default ->
          ended(
              history.compareAndSet(client, key, expected, value),
              key,
              node,
              "cas",
              key,
              expected == null ? "-" : expected,
              value);
    };
  }

  private boolean ended(History.Begun call, String key, int node, String... words)
      throws InterruptedException {
    String answer;
    try {
      answer = nodes.ask(node, words).get(answerMillisMax, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      if (e.getCause() instanceof NodeProcess.GoneException) {
        // A dead node answers at once; without a pause its clients would fill the history.
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      }
      return false;
    }
    String[] parts = answer.split(" ", 2);
    switch (parts[0]) {
      case "done" -> call.done();
      case "found" -> {
        call.found(parts[1]);
        seen.put(key, parts[1]);
      }
      case "absent" -> {
        call.found(null);
        seen.remove(key);
      }
      case "met" -> call.wasMet(true);
      case "unmet" -> call.wasMet(false);
      case "failed" -> {
        call.failed();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        return true;
      }
      case "unknown" -> {
        return false;
      }
      default -> throw new IllegalStateException("answer of node " + node + ": " + answer);
    }
    acknowledged.incrementAndGet();
    return true;
  }

  /** Number of calls that took effect and whose clients know. */
  int acknowledged() {
    return acknowledged.get();
  }

  /** Returns when so many more calls were acknowledged. */
  void awaitAcknowledged(int more, long secondsMax) {
    int target = acknowledged.get() + more;
    await(
        () -> acknowledged.get() >= target,
        secondsMax,
        () -> acknowledged.get() + " calls are acknowledged, not " + target);
  }

  /** Fails when something is not the case in time. */
  static void await(BooleanSupplier condition, long secondsMax, Supplier<String> otherwise) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(secondsMax);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError(otherwise.get());
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
  }

  /** Ends all clients, each after the call it is at. */
  @Override
  public void close() {
    stopped = true;
    for (Thread thread : threads) {
      try {
        thread.join(JOIN_MILLIS_MAX);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted", e);
      }
    }
    Throwable failed = failure.get();
    if (failed != null) {
      throw new AssertionError("a client failed", failed);
    }
  }
}
