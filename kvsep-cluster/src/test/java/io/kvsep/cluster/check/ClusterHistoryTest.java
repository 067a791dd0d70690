package io.kvsep.cluster.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Change;
import io.kvsep.ChangeFeed;
import io.kvsep.ScanOptions;
import io.kvsep.cluster.ClusterException;
import io.kvsep.cluster.ReplicatedStore;
import io.kvsep.error.KvException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * What clients of three nodes in this process see, and readers of their changes, while the leader
 * changes and a node stops and starts. {@link ClusterFaultTest} does worse things to processes.
 */
@Timeout(120)
final class ClusterHistoryTest implements Clients.Nodes {
  private static final int NODES = 3;
  private static final int KEYS = 3;
  private static final int CLIENTS = 6;
  private static final int PROGRESS = 60;
  private static final long WAIT_SECONDS_MAX = 60;
  private static final long ANSWER_MILLIS_MAX = 4_000;
  private static final Path HISTORIES = Path.of("target", "histories");

  @TempDir Path directory;

  private final List<ReplicatedStore> nodes = new ArrayList<>();
  private final ExecutorService workers = Executors.newCachedThreadPool();
  private final History history = new History(System::nanoTime);
  private String peers = "";

  private void start() throws IOException {
    List<ServerSocket> sockets = new ArrayList<>();
    List<String> addresses = new ArrayList<>();
    for (int i = 0; i < NODES; i++) {
      ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
      sockets.add(socket);
      addresses.add("n" + i + "=127.0.0.1:" + socket.getLocalPort());
    }
    for (ServerSocket socket : sockets) {
      socket.close();
    }
    peers = String.join(",", addresses);
    for (int i = 0; i < NODES; i++) {
      nodes.add(open(i));
    }
  }

  private ReplicatedStore open(int node) {
    return ReplicatedStore.open(
        ClusterNode.options(
            directory.resolve("n" + node),
            "n" + node,
            peers,
            List.of(
                "election=150",
                "request=2000",
                "snapshot=20000",
                "preserved=50",
                "retention=100000000")));
  }

  /** All at once: a node takes most of a second. */
  @AfterEach
  void close() {
    CompletableFuture.allOf(
            nodes.stream()
                .map(node -> CompletableFuture.runAsync(node::close, workers))
                .toArray(CompletableFuture<?>[]::new))
        .join();
    workers.shutdown();
  }

  @Override
  public int count() {
    return NODES;
  }

  @Override
  public synchronized CompletableFuture<String> ask(int node, String... words) {
    ClusterNode asked = new ClusterNode(nodes.get(node));
    String question = "0 " + String.join(" ", words);
    return CompletableFuture.supplyAsync(() -> asked.answer(question.split(" ")), workers);
  }

  private int leader() {
    int[] found = {-1};
    Clients.await(
        () -> {
          for (int node = 0; node < NODES; node++) {
            if (ask(node, "role").join().startsWith("LEADER")) {
              found[0] = node;
              return true;
            }
          }
          return false;
        },
        WAIT_SECONDS_MAX,
        () -> "no leader");
    return found[0];
  }

  private synchronized void restart(int node) {
    nodes.get(node).close();
    nodes.set(node, open(node));
  }

  private synchronized ReplicatedStore node(int node) {
    return nodes.get(node);
  }

  /** Reads a few changes at one node, goes on at the next, and so on. */
  private final class Follower {
    private final List<Long> seen = new ArrayList<>();
    private final Map<String, String> content = new TreeMap<>();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private CompletableFuture<Void> ended = CompletableFuture.completedFuture(null);

    Follower start() {
      ended = CompletableFuture.runAsync(this::run, workers);
      return this;
    }

    private void run() {
      for (int i = 0; !stopped.get(); i++) {
        try {
          read(node(i % NODES), 20, Duration.ofMillis(20));
        } catch (ClusterException | KvException e) {
          // The node is starting again.
          LockSupport.parkNanos(1_000_000);
        }
      }
    }

    private void read(ReplicatedStore node, int most, Duration wait) {
      long last = seen.isEmpty() ? 0 : seen.get(seen.size() - 1);
      try (ChangeFeed feed = node.store().changes(last)) {
        for (int i = 0; i < most; i++) {
          Change change = feed.poll(wait);
          if (change == null) {
            return;
          }
          seen.add(change.sequence());
          String key = new String(change.key(), UTF_8);
          if (change.kind() == Change.Kind.PUT) {
            content.put(key, new String(change.value(), UTF_8));
          } else {
            content.remove(key);
          }
        }
      }
    }

    /** It has seen every change once, and what every node has. */
    void end() {
      stopped.set(true);
      ended.join();
      read(node(0), Integer.MAX_VALUE, Duration.ZERO);
      for (int node = 0; node < NODES; node++) {
        Follower whole = new Follower();
        whole.read(node(node), Integer.MAX_VALUE, Duration.ZERO);
        assertEquals(whole.seen, seen);
        Map<String, String> found = new TreeMap<>();
        node(node)
            .store()
            .forEach(
                ScanOptions.all(),
                (key, value) -> found.put(new String(key, UTF_8), new String(value, UTF_8)));
        assertEquals(found, content);
      }
    }
  }

  @Test
  void callsAreLinearizableWhileTheLeaderChanges() throws IOException {
    start();
    Follower follower = new Follower().start();
    try (Clients clients = new Clients(this, history, "get", KEYS, ANSWER_MILLIS_MAX)) {
      clients.start(CLIENTS, 1);
      clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
      int next = (leader() + 1) % NODES;
      ask(next, "transfer", "n" + next).join();
      clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
    }
    follower.end();
    History.requireLinearizable(history.calls(), "three nodes in one process", HISTORIES);
  }

  @Test
  @EnabledIfSystemProperty(named = "kvsep.exhaustive", matches = "true")
  void callsAreLinearizableWhileANodeRestarts() throws IOException {
    start();
    Follower follower = new Follower().start();
    try (Clients clients = new Clients(this, history, "get", KEYS, ANSWER_MILLIS_MAX)) {
      clients.start(CLIENTS, 1);
      for (int i = 0; i < NODES; i++) {
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        restart(leader());
      }
      clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
    }
    follower.end();
    History.requireLinearizable(history.calls(), "three nodes in one process", HISTORIES);
  }

  @Test
  @EnabledIfSystemProperty(named = "kvsep.exhaustive", matches = "true")
  void canaryStaleReadsAreNoticed() throws IOException {
    start();
    boolean noticed = false;
    try (Clients clients = new Clients(this, history, "stale", KEYS, ANSWER_MILLIS_MAX)) {
      clients.start(CLIENTS, 1);
      for (int i = 0; i < 20 && !noticed; i++) {
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        noticed = LinearizabilityChecker.check(history.calls()) != null;
      }
    }
    assertTrue(noticed);
  }
}
