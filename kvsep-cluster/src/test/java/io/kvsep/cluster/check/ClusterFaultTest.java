package io.kvsep.cluster.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Three nodes in processes of their own, while clients write and read: whatever happens to nodes
 * and links, the history is linearizable, nothing acknowledged is lost, and in the end all nodes
 * have the same content. Minutes long, so only the exhaustive run has it.
 */
@EnabledIfSystemProperty(named = "kvsep.exhaustive", matches = "true")
final class ClusterFaultTest {
  private static final int NODES = 3;
  private static final int KEYS = 4;
  private static final int CLIENTS = 6;
  private static final int RUNS = Integer.getInteger("kvsep.runs", 20);
  private static final int FAULTS = 5;
  private static final int PROGRESS = 40;
  private static final long WAIT_SECONDS_MAX = 120;
  private static final long ANSWER_MILLIS_MAX = 4_000;
  private static final Path HISTORIES = Path.of("target", "histories");

  @TempDir Path directory;

  private enum Fault {
    KILL_ONE,
    KILL_LEADER,
    KILL_MAJORITY,
    KILL_ALL,
    PAUSE_LEADER,
    PAUSE_FOLLOWER,
    ISOLATE_LEADER,
    ISOLATE_FOLLOWER,
    LEADER_REACHES_NONE,
    NONE_REACHES_LEADER,
    SLOW_LINKS,
    TRANSFER,
    SNAPSHOT;

    private static final List<Fault> ALL = List.of(values());
    static final List<Fault> KILLS = ALL.subList(0, PAUSE_LEADER.ordinal());
    static final List<Fault> LINKS = ALL.subList(PAUSE_LEADER.ordinal(), ALL.size());
  }

  private interface Run {
    void with(long seed) throws Exception;
  }

  private static void seeds(Run run) throws Exception {
    Long asked = Long.getLong("kvsep.seed");
    for (long seed = asked == null ? 1 : asked; seed <= (asked == null ? RUNS : asked); seed++) {
      try {
        run.with(seed);
      } catch (Exception | AssertionError e) {
        throw new AssertionError("seed " + seed + " (-Dkvsep.seed=" + seed + "): " + e, e);
      }
    }
  }

  private TestCluster cluster(String name, String... more) {
    List<String> options =
        new ArrayList<>(
            List.of("election=300", "request=2000", "snapshot=100000", "preserved=200"));
    options.addAll(List.of(more));
    return new TestCluster(directory.resolve(name), NODES, options.toArray(String[]::new));
  }

  /** Clients that call while each fault of a drawn list comes and goes. */
  private void run(String name, long seed, List<Fault> from, String... options) {
    Random random = new Random(seed);
    History history = new History(System::nanoTime);
    List<Fault> faults = new ArrayList<>();
    try (TestCluster cluster = cluster(name + seed, options)) {
      cluster.awaitLeader(cluster.all());
      try (Clients clients = new Clients(cluster, history, "get", KEYS, ANSWER_MILLIS_MAX)) {
        clients.start(CLIENTS, seed);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        for (int i = 0; i < FAULTS; i++) {
          Fault fault = from.get(random.nextInt(from.size()));
          faults.add(fault);
          inject(fault, cluster, clients, random);
          clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        }
      }
      cluster.awaitLeader(cluster.all());
      readAll(cluster, history);
      cluster.awaitEqual();
    } catch (RuntimeException | AssertionError e) {
      throw new AssertionError(faults + ": " + e, e);
    }
    History.requireLinearizable(history.calls(), "seed " + seed + ", " + faults, HISTORIES);
  }

  private static void inject(Fault fault, TestCluster cluster, Clients clients, Random random) {
    int leader = cluster.awaitLeader(cluster.all());
    List<Integer> others = cluster.others(leader);
    int follower = others.get(random.nextInt(others.size()));
    boolean hang = random.nextBoolean();
    switch (fault) {
      case KILL_ONE -> {
        int node = random.nextInt(NODES);
        cluster.node(node).kill();
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.restart(node);
      }
      case KILL_LEADER -> {
        cluster.node(leader).kill();
        cluster.awaitLeader(others);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.restart(leader);
      }
      case KILL_MAJORITY -> {
        List<Integer> nodes = new ArrayList<>(cluster.all());
        Collections.shuffle(nodes, random);
        kill(cluster, nodes.subList(0, 2));
      }
      case KILL_ALL -> kill(cluster, cluster.all());
      case PAUSE_LEADER -> {
        cluster.node(leader).pause();
        cluster.awaitLeader(others);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.node(leader).resume();
      }
      case PAUSE_FOLLOWER -> {
        cluster.node(follower).pause();
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.node(follower).resume();
      }
      case ISOLATE_LEADER -> {
        cluster.isolate(leader, hang);
        cluster.awaitLeader(others);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.heal();
      }
      case ISOLATE_FOLLOWER -> {
        cluster.isolate(follower, hang);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.heal();
      }
      case LEADER_REACHES_NONE -> {
        cluster.oneWay(List.of(leader), others, hang);
        cluster.awaitLeader(others);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.heal();
      }
      case NONE_REACHES_LEADER -> {
        cluster.oneWay(others, List.of(leader), hang);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.heal();
      }
      case SLOW_LINKS -> {
        Duration delay = Duration.ofMillis(10 + random.nextInt(60));
        cluster.delay(cluster.all(), cluster.all(), delay);
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.heal();
      }
      case TRANSFER -> {
        if (hang) {
          // The old leader learns late that there is a new one.
          cluster.delay(others, List.of(leader), Duration.ofMillis(150));
        }
        cluster.ask(follower, "transfer", "n" + follower).join();
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
        cluster.heal();
      }
      case SNAPSHOT -> cluster.all().forEach(node -> cluster.ask(node, "snapshot").join());
    }
  }

  private static void kill(TestCluster cluster, List<Integer> nodes) {
    nodes.forEach(node -> cluster.node(node).kill());
    nodes.forEach(cluster::restart);
  }

  /** The last word about every key, of every node. */
  private static void readAll(TestCluster cluster, History history) {
    for (int node : cluster.all()) {
      for (int key = 0; key < KEYS; key++) {
        History.Begun get = history.get(-1 - node, "k" + key);
        String[] answer = cluster.answer(node, "get", "k" + key).split(" ", -1);
        assertTrue(answer[0].equals("found") || answer[0].equals("absent"), answer[0]);
        get.found(answer.length > 1 ? answer[1] : null);
      }
    }
  }

  @Test
  void killedNodesAreLinearizable() throws Exception {
    seeds(seed -> run("kill", seed, Fault.KILLS));
  }

  @Test
  void pausesAndPartitionsAreLinearizable() throws Exception {
    seeds(seed -> run("part", seed, Fault.LINKS));
  }

  /**
   * Questions wait for a leader that was stopped, and it has a moment to answer them before it
   * hears of its successor.
   */
  @Test
  void aLeaderThatWasStoppedDoesNotAnswerFromBefore() throws Exception {
    try (TestCluster cluster = cluster("stopped")) {
      for (int round = 0; round < RUNS; round++) {
        int leader = cluster.awaitLeader(cluster.all());
        String before = "v" + round;
        putUntilDone(cluster, leader, before);
        assertEquals("found " + before, cluster.answer(leader, "get", "k"));
        cluster.node(leader).pause();
        int successor = cluster.awaitLeader(cluster.others(leader));
        putUntilDone(cluster, successor, "w" + round);
        List<CompletableFuture<String>> answers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
          answers.add(cluster.ask(leader, "get", "k"));
        }
        cluster.node(leader).resume();
        for (CompletableFuture<String> answer : answers) {
          String found = answer.get(WAIT_SECONDS_MAX, TimeUnit.SECONDS);
          assertTrue(
              found.equals("found w" + round) || found.startsWith("failed"),
              "round " + round + ": " + found);
        }
      }
    }
  }

  /** A client may wait for the stopped node until its time is up. */
  private static void putUntilDone(TestCluster cluster, int node, String value) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS_MAX);
    String answer = "";
    while (!answer.equals("done")) {
      answer = cluster.answer(node, "put", "k", value);
      String last = answer;
      assertTrue(System.nanoTime() - end < 0, () -> last);
    }
  }

  @Test
  void canaryStaleReadsAreNoticed() throws Exception {
    History history = new History(System::nanoTime);
    try (TestCluster cluster = cluster("stale")) {
      int leader = cluster.awaitLeader(cluster.all());
      try (Clients clients = new Clients(cluster, history, "stale", KEYS, ANSWER_MILLIS_MAX)) {
        clients.start(CLIENTS, 1);
        inject(Fault.ISOLATE_FOLLOWER, cluster, clients, new Random(1));
        clients.awaitAcknowledged(PROGRESS, WAIT_SECONDS_MAX);
      }
      assertTrue(leader >= 0);
    }
    assertNotNull(LinearizabilityChecker.check(history.calls()));
  }

  /** Writers of keys of their own; each key is looked for after every kill. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void killedNodesLoseNothingAcknowledged(int killed) throws Exception {
    Random random = new Random(killed);
    try (TestCluster cluster = cluster("loop" + killed)) {
      cluster.awaitLeader(cluster.all());
      List<AtomicInteger> acknowledged =
          IntStream.range(0, NODES).mapToObj(node -> new AtomicInteger()).toList();
      AtomicBoolean stopped = new AtomicBoolean();
      List<Thread> writers = new ArrayList<>();
      for (int node = 0; node < NODES; node++) {
        int home = node;
        Thread writer = new Thread(() -> write(cluster, home, acknowledged.get(home), stopped));
        writer.start();
        writers.add(writer);
      }
      try {
        for (int round = 0; round < RUNS; round++) {
          int target = sum(acknowledged) + PROGRESS;
          Clients.await(
              () -> sum(acknowledged) >= target,
              WAIT_SECONDS_MAX,
              () -> acknowledged + " acknowledged, " + cluster.roles());
          List<Integer> nodes = new ArrayList<>(cluster.all());
          Collections.shuffle(nodes, random);
          kill(cluster, nodes.subList(0, killed));
          int asked = cluster.awaitLeader(cluster.all());
          for (int home = 0; home < NODES; home++) {
            String count = Integer.toString(acknowledged.get(home).get());
            assertEquals("none", cluster.answer(asked, "missing", "w" + home + "-", count));
          }
        }
      } finally {
        stopped.set(true);
        for (Thread writer : writers) {
          writer.join();
        }
      }
      cluster.awaitEqual();
    }
  }

  private static int sum(List<AtomicInteger> counts) {
    return counts.stream().mapToInt(AtomicInteger::get).sum();
  }

  /** Repeats each write until it is acknowledged, and begins the next. */
  private static void write(
      TestCluster cluster, int home, AtomicInteger acknowledged, AtomicBoolean stopped) {
    while (!stopped.get()) {
      String key = "w" + home + "-" + acknowledged.get();
      try {
        String answer =
            cluster.ask(home, "put", key, "v").get(ANSWER_MILLIS_MAX, TimeUnit.MILLISECONDS);
        if (answer.equals("done")) {
          acknowledged.incrementAndGet();
          continue;
        }
      } catch (ExecutionException | TimeoutException e) {
        // The node is dead or without a leader.
      } catch (InterruptedException e) {
        return;
      }
      LockSupport.parkNanos(20_000_000);
    }
  }

  /** At any moment before it is a member, so that it finds what is half made. */
  @Test
  void nodesKilledAtTheirFirstStartStartAgain() throws Exception {
    seeds(
        seed -> {
          Random random = new Random(seed);
          try (TestCluster cluster = new TestCluster(directory.resolve("first" + seed), 1)) {
            for (int i = 0; i < 3; i++) {
              cluster.node(0).kill();
              delete(cluster.directory(0));
              cluster.restartUnready(0);
              LockSupport.parkNanos(random.nextLong(900_000_000L));
            }
            cluster.node(0).kill();
            cluster.restart(0);
            assertEquals("done", cluster.answer(0, "put", "k", "v"));
          }
        });
  }

  /** Of one that has to be sent as a snapshot, because the log before it is gone. */
  @Test
  void aNodeThatWasAwayForLongGetsASnapshot() throws Exception {
    try (TestCluster cluster = cluster("away", "preserved=0")) {
      int leader = cluster.awaitLeader(cluster.all());
      int away = cluster.others(leader).get(0);
      assertEquals("done", cluster.answer(leader, "load", "a", "500", "1000"));
      cluster.node(away).kill();
      for (int round = 0; round < 3; round++) {
        assertEquals("done", cluster.answer(leader, "load", "b" + round, "500", "1000"));
        cluster.others(away).forEach(node -> cluster.answer(node, "snapshot"));
      }
      cluster.restart(away);
      cluster.awaitEqual();
    }
  }

  /** A small file system of its own, where one may be mounted; skipped elsewhere. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFullDiskStopsOneNodeAndLosesNothing(boolean ofTheLeader) throws Exception {
    List<Path> disks = new ArrayList<>();
    try {
      for (int node = 0; node < NODES; node++) {
        Path disk = Files.createDirectories(directory.resolve("full").resolve("n" + node));
        assumeTrue(
            run("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", disk.toString()),
            "skipped: no file system may be mounted here");
        disks.add(disk);
      }
      try (TestCluster cluster = cluster("full")) {
        int leader = cluster.awaitLeader(cluster.all());
        int full = ofTheLeader ? leader : cluster.others(leader).get(0);
        assertEquals("done", cluster.answer(leader, "load", "a", "500", "1000"));
        Path filler = fillUp(disks.get(full));
        int other = cluster.others(full).get(0);
        for (int round = 0; isMember(cluster, full); round++) {
          assertTrue(round < 200, "a node on a full disk goes on");
          load(cluster, other, "b" + round);
        }
        cluster.awaitLeader(cluster.others(full));
        cluster.node(full).kill();
        Files.delete(filler);
        cluster.restart(full);
        cluster.awaitEqual();
        load(cluster, full, "c");
        cluster.awaitEqual();
      }
    } finally {
      for (Path disk : disks) {
        assertTrue(run("umount", disk.toString()), "something on the disk is still open");
      }
    }
  }

  private static boolean isMember(TestCluster cluster, int node) {
    return cluster.answer(node, "role").matches("(LEADER|FOLLOWER|CANDIDATE) .*");
  }

  /** Repeats what failed, as while there is no leader. */
  private static void load(TestCluster cluster, int node, String prefix) {
    Clients.await(
        () -> cluster.answer(node, "load", prefix, "200", "1000").equals("done"),
        WAIT_SECONDS_MAX,
        () -> "nothing can be written: " + cluster.roles());
  }

  private static boolean run(String... command) throws Exception {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    return process.waitFor() == 0;
  }

  private static Path fillUp(Path disk) throws Exception {
    Path filler = disk.resolve("filler");
    try (OutputStream out = Files.newOutputStream(filler)) {
      byte[] bytes = new byte[4 << 10];
      while (true) {
        out.write(bytes);
      }
    } catch (IOException e) {
      assertTrue(Files.size(filler) > 0, "full");
    }
    return filler;
  }

  /** It leaves, its directory is deleted, and it comes back empty. */
  @Test
  void aNodeWithADamagedStoreIsBuiltAgain() throws Exception {
    try (TestCluster cluster = cluster("damage", "preserved=0")) {
      int leader = cluster.awaitLeader(cluster.all());
      int damaged = cluster.others(leader).get(0);
      assertEquals("done", cluster.answer(leader, "load", "a", "2000", "1000"));
      cluster.awaitEqual();
      cluster.node(damaged).kill();
      damageStore(cluster.directory(damaged));
      boolean started = true;
      try {
        cluster.restart(damaged);
      } catch (IllegalStateException e) {
        started = false;
      }
      assertEquals("done", cluster.answer(leader, "load", "b", "200", "1000"), "the others go on");
      if (started) {
        cluster.node(damaged).kill();
      }
      assertEquals("done", cluster.answer(leader, "remove", "n" + damaged));
      delete(cluster.directory(damaged));
      cluster.others(damaged).forEach(node -> cluster.answer(node, "snapshot"));
      cluster.restart(damaged, "joining=true");
      assertEquals("done", cluster.answer(leader, "add", "n" + damaged, cluster.listens(damaged)));
      cluster.awaitEqual();
      cluster.answer(leader, "load", "c", "200", "1000");
      cluster.awaitEqual();
    }
  }

  /** A byte in the middle of every file of the live store. */
  private static void damageStore(Path node) throws Exception {
    int count = 0;
    try (Stream<Path> files = Files.walk(node)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        if (file.toString().contains("/store/") && Files.size(file) > 1_000) {
          byte[] bytes = Files.readAllBytes(file);
          bytes[bytes.length / 2] ^= 1;
          Files.write(file, bytes, StandardOpenOption.TRUNCATE_EXISTING);
          count++;
        }
      }
    }
    assertTrue(count > 0);
  }

  private static void delete(Path node) throws Exception {
    if (!Files.exists(node)) {
      return;
    }
    try (Stream<Path> files = Files.walk(node)) {
      for (Path file : files.sorted(Collections.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
