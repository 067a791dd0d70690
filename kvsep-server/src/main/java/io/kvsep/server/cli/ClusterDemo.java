package io.kvsep.server.cli;

import io.kvsep.server.cluster.ClusterStatus;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The demo of a cluster. A lost write or a difference of replicas is a {@link CommandFailure}. */
final class ClusterDemo {
  private static final String CLUSTER = "demo";
  private static final List<String> FIRST = List.of("a", "b", "c");
  private static final String FOURTH = "d";
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Writes between two events, of all clients. */
  private static final int WRITES = 200;

  private final DemoReport report;
  private final Path directory;
  private final int clientCount;

  /** By their names. */
  private final Map<String, DemoNode> nodes = new TreeMap<>();

  ClusterDemo(DemoReport report, Path directory, int clientCount) {
    this.report = report;
    this.directory = directory;
    this.clientCount = clientCount;
  }

  void run() throws IOException, InterruptedException {
    try {
      start();
    } finally {
      nodes.values().forEach(DemoNode::close);
    }
  }

  private void start() throws IOException, InterruptedException {
    for (String name : FIRST) {
      addNode(name);
    }
    report.say("demo with " + clientCount + " clients of three nodes in " + directory);
    report.timedHead();
    startThree();
    try (DemoClients clients =
        new DemoClients(clientCount, FIRST.stream().map(name -> node(name).server()).toList())) {
      write(clients);
      DemoNode killed = killLeader(clients);
      restart(killed, clients);
      addFourth(clients);
      long begin = System.nanoTime();
      List<Integer> counts = clients.stop();
      long index = awaitSameIndex();
      report.step(
          "wait for all replicas", System.nanoTime() - begin, "all have " + Amounts.count(index));
      compare(counts);
    }
  }

  private void addNode(String name) throws IOException {
    nodes.put(name, new DemoNode(name, "127.0.0.1:" + freePort(), directory, program()));
  }

  private DemoNode node(String name) {
    return Objects.requireNonNull(nodes.get(name), name);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static List<String> program() {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx256m",
        "-XX:TieredStopAtLevel=1",
        "-Dsun.misc.unsafe.memory.access=allow",
        "--enable-native-access=ALL-UNNAMED",
        "-Dkvsep.home=" + System.getProperty("kvsep.home", ""),
        "-cp",
        System.getProperty("java.class.path", "."),
        ClusterDemoNode.class.getName());
  }

  private List<String> options(String... more) {
    String peers =
        nodes.values().stream()
            .map(node -> node.name() + "=" + node.address())
            .collect(Collectors.joining(","));
    List<String> options = new ArrayList<>(List.of("--cluster", CLUSTER, "--peers", peers));
    options.addAll(List.of(more));
    return options;
  }

  private void startThree() throws IOException, InterruptedException {
    long begin = System.nanoTime();
    Map<String, CompletableFuture<URI>> starts = new TreeMap<>();
    for (String name : FIRST) {
      starts.put(name, node(name).start(options()));
    }
    for (String name : FIRST) {
      node(name).awaitServer(Objects.requireNonNull(starts.get(name)));
    }
    String leader = awaitLeader(null);
    report.step("start three nodes", System.nanoTime() - begin, leader + " leads");
  }

  private void write(DemoClients clients) throws InterruptedException, IOException {
    long begin = System.nanoTime();
    clients.start();
    clients.awaitMore(2L * WRITES);
    long nanos = System.nanoTime() - begin;
    report.step("write through all nodes", nanos, acknowledged(clients));
  }

  private static String acknowledged(DemoClients clients) {
    return Amounts.of(clients.acknowledged(), "write") + " acknowledged";
  }

  private DemoNode killLeader(DemoClients clients) throws IOException, InterruptedException {
    DemoNode leader = node(awaitLeader(null));
    long begin = System.nanoTime();
    clients.watch();
    leader.kill();
    String next = awaitLeader(leader.name());
    clients.awaitMore(WRITES);
    report.step(
        "kill the leader, " + leader.name(),
        System.nanoTime() - begin,
        String.format(
            Locale.ROOT,
            "%s leads, writes paused for %.2f s",
            next,
            Amounts.seconds(clients.longestPauseNanos())));
    return leader;
  }

  private void restart(DemoNode killed, DemoClients clients)
      throws IOException, InterruptedException {
    long begin = System.nanoTime();
    ServerConnection gone = killed.server();
    killed.awaitServer(killed.start(options()));
    clients.replace(gone, killed.server());
    long behind = await("node " + killed.name() + " does not catch up", () -> caughtUp(killed));
    report.step(
        "start " + killed.name() + " again",
        System.nanoTime() - begin,
        "it has the log up to " + Amounts.count(behind));
  }

  private void addFourth(DemoClients clients) throws IOException, InterruptedException {
    long begin = System.nanoTime();
    addNode(FOURTH);
    DemoNode fourth = node(FOURTH);
    fourth.awaitServer(fourth.start(options("--join")));
    ClusterCommand.add(node(FIRST.get(0)).server(), FOURTH, fourth.address());
    clients.awaitMore(WRITES);
    report.step("add a fourth node", System.nanoTime() - begin, acknowledged(clients));
  }

  /** Something that comes about while others work; null as long as it has not. */
  private interface Look<T> {
    @Nullable T look() throws IOException, InterruptedException;
  }

  /** Looks again and again; a node that does not answer is asked again, too. */
  private static <T> T await(String failure, Look<T> look) throws InterruptedException {
    long endNanos = System.nanoTime() + PATIENCE_NANOS;
    Exception last = null;
    while (System.nanoTime() - endNanos < 0) {
      try {
        T found = look.look();
        if (found != null) {
          return found;
        }
      } catch (IOException | CommandFailure e) {
        last = e;
      }
      LockSupport.parkNanos(LOOK_NANOS);
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
    throw CommandFailure.failed(last == null ? failure : failure + ": " + Kvsep.reason(last));
  }

  /**
   * The leader that a majority of the running nodes agrees on.
   *
   * @param not a node that has ended, null for none
   */
  private String awaitLeader(@Nullable String not) throws InterruptedException {
    return await(
        "no leader was elected",
        () -> {
          String agreed = null;
          for (DemoNode node : nodes.values()) {
            if (!node.name().equals(not)) {
              String leader = group(node).leader();
              if (leader == null
                  || leader.equals(not)
                  || (agreed != null && !agreed.equals(leader))) {
                return null;
              }
              agreed = leader;
            }
          }
          return agreed;
        });
  }

  private static ClusterStatus.Group group(DemoNode node) throws IOException, InterruptedException {
    return ServedCluster.of(node.server()).status().groups().get(0);
  }

  /** The index that the store of a node has, as it says itself; -1 if it does not say. */
  private static long applied(DemoNode node, ClusterStatus.Group group) {
    return group.members().stream()
        .filter(member -> member.node().equals(node.name()))
        .findFirst()
        .flatMap(member -> Optional.ofNullable(member.appliedIndex()))
        .orElse(-1L);
  }

  /** The applied index of a node if it has what the leader had committed before. */
  private @Nullable Long caughtUp(DemoNode node) throws IOException, InterruptedException {
    String leader = group(node).leader();
    if (leader == null) {
      return null;
    }
    long committed = group(node(leader)).commitIndex();
    long applied = applied(node, group(node));
    return applied >= committed ? applied : null;
  }

  /** The index that all nodes have applied and the leader has committed. */
  private long awaitSameIndex() throws InterruptedException {
    return await(
        "the replicas do not come to the same index",
        () -> {
          Long same = null;
          for (DemoNode node : nodes.values()) {
            ClusterStatus.Group group = group(node);
            long applied = applied(node, group);
            if (applied < 0
                || applied != group.commitIndex()
                || group.members().size() != nodes.size()
                || (same != null && same != applied)) {
              return null;
            }
            same = applied;
          }
          return same;
        });
  }

  private void compare(List<Integer> counts) throws IOException, InterruptedException {
    long begin = System.nanoTime();
    Map<String, ReplicaContent> contents = new TreeMap<>();
    for (DemoNode node : nodes.values()) {
      contents.put(node.name(), ReplicaContent.read(node.server(), counts));
    }
    report.step("read all replicas", System.nanoTime() - begin, "each from its own node");
    report.say("");
    report.say(row("node", "address", "role", "applied", "entries", "missing", "wrong", "SHA-256"));
    List<JsonObject> replicas = new ArrayList<>();
    for (DemoNode node : nodes.values()) {
      replicas.add(show(node, Objects.requireNonNull(contents.get(node.name()))));
    }
    report.say("");
    conclude(counts, List.copyOf(contents.values()), replicas);
  }

  private JsonObject show(DemoNode node, ReplicaContent content)
      throws IOException, InterruptedException {
    ClusterStatus.Group group = group(node);
    String role = node.name().equals(group.leader()) ? "leader" : "follower";
    long applied = applied(node, group);
    report.say(
        row(
            node.name(),
            node.address(),
            role,
            Amounts.count(applied),
            Amounts.count(content.entries()),
            Amounts.count(content.missing()),
            Amounts.count(content.wrong()),
            content.digest().substring(0, 12)));
    return new JsonObject()
        .put("node", node.name())
        .put("role", role)
        .put("appliedIndex", applied)
        .put("entries", content.entries())
        .put("missing", content.missing())
        .put("wrong", content.wrong())
        .put("sha256", content.digest());
  }

  private static String row(Object... cells) {
    return String.format(Locale.ROOT, "%-4s  %-21s  %-8s  %9s  %9s  %7s  %5s  %-12s", cells)
        .stripTrailing();
  }

  private void conclude(
      List<Integer> counts, List<ReplicaContent> contents, List<JsonObject> replicas)
      throws IOException {
    long acknowledged = counts.stream().mapToLong(Integer::longValue).sum();
    boolean isSame = contents.stream().distinct().count() == 1;
    boolean isWhole =
        contents.stream().allMatch(content -> content.missing() == 0 && content.wrong() == 0);
    if (!isSame || !isWhole) {
      throw CommandFailure.failed(
          isSame ? "the replicas do not have what was acknowledged" : "the replicas differ");
    }
    report.say(
        "All replicas have the same content, and each of the "
            + Amounts.count(acknowledged)
            + " acknowledged writes.");
    report.finish(new JsonObject().put("acknowledged", acknowledged).put("replicas", replicas));
  }
}
