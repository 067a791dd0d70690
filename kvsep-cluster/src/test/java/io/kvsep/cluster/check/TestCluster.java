package io.kvsep.cluster.check;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Nodes in processes of their own, numbered from 0. Each reaches each other one through a link of
 * its own. Not thread safe, except for {@link #ask}.
 */
final class TestCluster implements Clients.Nodes, AutoCloseable {
  private static final long START_SECONDS_MAX = 120;
  private static final long WAIT_SECONDS_MAX = 120;

  private static final List<String> JVM =
      List.of(
          "-Xmx256m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-Xshare:auto",
          "-Dsun.misc.unsafe.memory.access=allow",
          "--enable-native-access=ALL-UNNAMED");

  private final Path directory;
  private final List<String> options;
  private final List<Integer> ports = new ArrayList<>();

  /** {@code links.get(from).get(to)}; null from a node to itself. */
  private final List<List<@Nullable FaultyLink>> links = new ArrayList<>();

  private final List<NodeProcess> processes = new CopyOnWriteArrayList<>();

  /** Starts all nodes. */
  TestCluster(Path directory, int nodes, String... options) {
    this.directory = directory;
    this.options = List.of(options);
    for (int node = 0; node < nodes; node++) {
      ports.add(freePort());
    }
    for (int from = 0; from < nodes; from++) {
      List<@Nullable FaultyLink> row = new ArrayList<>();
      for (int to = 0; to < nodes; to++) {
        row.add(from == to ? null : new FaultyLink(address(to)));
      }
      links.add(row);
    }
    for (int node = 0; node < nodes; node++) {
      processes.add(process(node, List.of()));
    }
    try {
      processes.forEach(process -> process.awaitReady(START_SECONDS_MAX));
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private InetSocketAddress address(int node) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), ports.get(node));
  }

  private NodeProcess process(int node, List<String> more) {
    List<String> peers = new ArrayList<>();
    for (int to = 0; to < ports.size(); to++) {
      FaultyLink link = links.get(node).get(to);
      peers.add("n" + to + "=127.0.0.1:" + (link == null ? ports.get(to) : link.port()));
    }
    List<String> words = new ArrayList<>();
    words.add(directory(node).toString());
    words.add("n" + node);
    words.add(String.join(",", peers));
    words.addAll(options);
    words.addAll(more);
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new NodeProcess(JVM, ClusterNode.class, words, directory.resolve("errors-n" + node));
  }

  Path directory(int node) {
    return directory.resolve("n" + node);
  }

  /** The address at which the node itself listens. */
  String listens(int node) {
    return "127.0.0.1:" + ports.get(node);
  }

  NodeProcess node(int node) {
    return processes.get(node);
  }

  /** Starts a killed node again; returns when it is open. */
  void restart(int node, String... more) {
    restartUnready(node, more);
    node(node).awaitReady(START_SECONDS_MAX);
  }

  /** Starts a killed node again; returns at once. */
  void restartUnready(int node, String... more) {
    processes.set(node, process(node, List.of(more)));
  }

  @Override
  public int count() {
    return ports.size();
  }

  @Override
  public CompletableFuture<String> ask(int node, String... words) {
    return processes.get(node).ask(words);
  }

  /** The answer of a node that has one. */
  String answer(int node, String... words) {
    return ask(node, words).orTimeout(WAIT_SECONDS_MAX, TimeUnit.SECONDS).join();
  }

  /** Every link from one set of nodes to another. */
  private void links(List<Integer> from, List<Integer> to, Consumer<FaultyLink> fault) {
    for (int source : from) {
      for (int destination : to) {
        FaultyLink link = links.get(source).get(destination);
        if (link != null) {
          fault.accept(link);
        }
      }
    }
  }

  /** Nothing passes between a node and the others; hanging connections or cut ones. */
  void isolate(int node, boolean hang) {
    oneWay(List.of(node), others(node), hang);
    oneWay(others(node), List.of(node), hang);
  }

  /** Calls of some nodes to others do not pass; those that the others begin do. */
  void oneWay(List<Integer> from, List<Integer> to, boolean hang) {
    links(from, to, hang ? FaultyLink::hang : FaultyLink::drop);
  }

  /** What some nodes call others for takes so much longer. */
  void delay(List<Integer> from, List<Integer> to, Duration delay) {
    links(from, to, link -> link.delay(delay));
  }

  void heal() {
    links(all(), all(), FaultyLink::pass);
  }

  List<Integer> all() {
    return IntStream.range(0, count()).boxed().toList();
  }

  List<Integer> others(int node) {
    return all().stream().filter(other -> other != node).toList();
  }

  /** Waits until these nodes agree that one of them leads, and returns that one. */
  int awaitLeader(List<Integer> nodes) {
    int[] found = {-1};
    Clients.await(
        () -> {
          for (int node : nodes) {
            if (isLeader(node) && nodes.stream().allMatch(other -> follows(other, node))) {
              found[0] = node;
              return true;
            }
          }
          return false;
        },
        WAIT_SECONDS_MAX,
        () -> "no leader among " + nodes + ": " + roles());
    return found[0];
  }

  private boolean isLeader(int node) {
    return quick(node, "role").startsWith("LEADER");
  }

  private boolean follows(int node, int leader) {
    return quick(node, "leader").equals("n" + leader);
  }

  /** The answer, or why there is none. */
  private String quick(int node, String word) {
    try {
      return ask(node, word).orTimeout(5, TimeUnit.SECONDS).join();
    } catch (CompletionException e) {
      return String.valueOf(e.getCause());
    }
  }

  List<String> roles() {
    return all().stream().map(node -> node + " " + quick(node, "role")).toList();
  }

  /** Waits until all nodes have applied the same entries and have the same content. */
  String awaitEqual() {
    String[] last = {""};
    Function<Integer, String> digest = node -> quick(node, "digest");
    Clients.await(
        () -> {
          List<String> digests = all().stream().map(digest).distinct().toList();
          last[0] = digests.toString();
          return digests.size() == 1 && digests.get(0).matches("\\d+ \\d+ [0-9a-f]+");
        },
        WAIT_SECONDS_MAX,
        () -> "nodes differ: " + last[0]);
    return last[0];
  }

  /** Kills all processes. */
  @Override
  public void close() {
    processes.forEach(NodeProcess::close);
    links.forEach(
        row ->
            row.forEach(
                link -> {
                  if (link != null) {
                    link.close();
                  }
                }));
  }
}
