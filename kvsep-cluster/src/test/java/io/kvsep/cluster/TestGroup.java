package io.kvsep.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Nodes of one group in this process, on free ports. */
final class TestGroup implements AutoCloseable {
  private final Path directory;
  private final Map<String, String> addresses = new LinkedHashMap<>();
  private final Map<String, ReplicatedStore> running = new TreeMap<>();
  private final Consumer<ClusterOptions.Builder> options;

  TestGroup(Path directory, int nodes) throws IOException {
    this(directory, nodes, builder -> {});
  }

  /** Starts {@code nodes} nodes, named a, b and so on. */
  TestGroup(Path directory, int nodes, Consumer<ClusterOptions.Builder> options)
      throws IOException {
    this.directory = directory;
    this.options = options;
    List<String> names = new ArrayList<>();
    for (int i = 0; i < nodes; i++) {
      names.add(String.valueOf((char) ('a' + i)));
    }
    freeAddresses(names).forEach(addresses::put);
    names.forEach(this::start);
  }

  /** Ports that are free now; all are held until the last is found. */
  static Map<String, String> freeAddresses(List<String> names) throws IOException {
    Map<String, String> free = new LinkedHashMap<>();
    List<ServerSocket> held = new ArrayList<>();
    try {
      for (String name : names) {
        ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        held.add(socket);
        free.put(name, "127.0.0.1:" + socket.getLocalPort());
      }
    } finally {
      for (ServerSocket socket : held) {
        socket.close();
      }
    }
    return free;
  }

  ReplicatedStore start(String name) {
    return start(name, addresses, false);
  }

  /** Starts a node that is no member yet. */
  ReplicatedStore startJoining(String name) throws IOException {
    Map<String, String> all = new LinkedHashMap<>(addresses);
    all.putAll(freeAddresses(List.of(name)));
    addresses.put(name, all.get(name));
    return start(name, all, true);
  }

  /** Opens a node that is no member, knows all members, and gives up soon. The caller closes it. */
  ReplicatedStore startStranger(String name, Path root, ClusterOptions.@Nullable Tls tls)
      throws IOException {
    Map<String, String> all = new LinkedHashMap<>(addresses);
    all.putAll(freeAddresses(List.of(name)));
    Path own = root.resolve(name + (tls == null ? "" : "-tls"));
    return ReplicatedStore.open(
        options(name, all, own)
            .joining(true)
            .requestTimeout(Duration.ofMillis(500))
            .tls(tls)
            .build());
  }

  /** Short times and small limits. */
  static ClusterOptions.Builder options(String name, Map<String, String> peers, Path directory) {
    return ClusterOptions.builder(name, peers, directory)
        .electionTimeout(Duration.ofMillis(150), Duration.ofMillis(300))
        .requestTimeout(Duration.ofSeconds(20))
        .requestBytesMax(1 << 20)
        .store(store -> store.memoryBudgetBytes(16 << 20));
  }

  private ReplicatedStore start(String name, Map<String, String> peers, boolean joining) {
    ClusterOptions.Builder builder = options(name, peers, directory.resolve(name)).joining(joining);
    options.accept(builder);
    ReplicatedStore started = ReplicatedStore.open(builder.build());
    running.put(name, started);
    return started;
  }

  String address(String name) {
    return Objects.requireNonNull(addresses.get(name));
  }

  ReplicatedStore node(String name) {
    return Objects.requireNonNull(running.get(name), name);
  }

  Collection<ReplicatedStore> nodes() {
    return running.values();
  }

  void stopAll() {
    close();
    running.clear();
  }

  void stop(String name) {
    Objects.requireNonNull(running.remove(name), name).close();
  }

  /** Waits for a node that leads. */
  ReplicatedStore leader() {
    await(() -> findLeader().isPresent());
    return findLeader().orElseThrow();
  }

  private Optional<ReplicatedStore> findLeader() {
    return running.values().stream().filter(node -> node.role() == Role.LEADER).findFirst();
  }

  /** Any node that does not lead now. */
  ReplicatedStore follower() {
    ReplicatedStore leader = leader();
    return running.values().stream().filter(node -> node != leader).findFirst().orElseThrow();
  }

  static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0 || Thread.currentThread().isInterrupted()) {
        throw new AssertionError("waited for a minute, or was interrupted");
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
    }
  }

  @Override
  public void close() {
    closeAll(running.values());
  }

  /** All at once: a node takes most of a second. One that hangs is told with its stack. */
  static void closeAll(Collection<? extends AutoCloseable> nodes) {
    Map<Thread, CompletableFuture<Void>> closings = new LinkedHashMap<>();
    for (AutoCloseable node : nodes) {
      CompletableFuture<Void> closing = new CompletableFuture<>();
      Thread closer =
          new Thread(
              () -> {
                try {
                  node.close();
                  closing.complete(null);
                } catch (Exception e) {
                  closing.completeExceptionally(e);
                }
              },
              "closes " + node);
      closings.put(closer, closing);
      closer.start();
    }
    closings.forEach(TestGroup::awaitClosed);
  }

  private static void awaitClosed(Thread closer, CompletableFuture<Void> closing) {
    try {
      closing.get(60, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      AssertionError hangs = new AssertionError(closer.getName() + " for a minute");
      hangs.setStackTrace(closer.getStackTrace());
      throw hangs;
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(closer.getName(), e);
    }
  }
}
