package io.kvsep.cluster.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.errorprone.annotations.FormatMethod;
import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.kvsep.cluster.ClusterException;
import io.kvsep.cluster.ClusterOptions;
import io.kvsep.cluster.Consistency;
import io.kvsep.cluster.ReplicatedStore;
import io.kvsep.cluster.Role;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** Prints the figures of the cluster guide. CONTRIBUTING says how to run it. */
@Tag("compiled")
@EnabledIfSystemProperty(named = "kvsep.figures", matches = "true")
final class ClusterFiguresTest {
  private static final long SECONDS = Long.getLong("kvsep.figures.seconds", 10);
  private static final long COPY_BYTES = Long.getLong("kvsep.figures.bytes", 1L << 30);
  private static final int ROUNDS = 2;
  private static final int CLIENTS = 64;
  private static final int KEYS = 10_000;
  private static final int VALUE_BYTES = 1_000;

  @TempDir Path directory;

  /** In turns, because the machine is not the same at all times. */
  @Test
  void puts() throws Exception {
    try (KvStore single = store(directory.resolve("single"));
        Group one = new Group(directory.resolve("one"), 1);
        Group three = new Group(directory.resolve("three"), 3)) {
      for (int round = 0; round < ROUNDS; round++) {
        double store = rate(CLIENTS, putter(single));
        say("puts, one synced store, %d clients: %.0f/s", CLIENTS, store);
        for (Group group : List.of(one, three)) {
          ReplicatedStore leader = group.leader();
          long index = leader.committedIndex();
          double rate = rate(CLIENTS, putter(leader.store()));
          say(
              "puts, %d nodes, %d clients: %.0f/s, %.2f of the store, %.0f entries/s",
              group.nodes.size(),
              CLIENTS,
              rate,
              rate / store,
              (leader.committedIndex() - index) / (double) SECONDS);
        }
      }
      say("puts, 3 nodes, 1 client: %.0f/s", rate(1, putter(three.leader().store())));
    }
  }

  @Test
  void gets() throws Exception {
    try (Group group = new Group(directory.resolve("gets"), 3)) {
      fill(group.leader(), KEYS);
      for (ReplicatedStore node : List.of(group.leader(), group.follower())) {
        for (int clients : List.of(1, CLIENTS)) {
          for (Consistency consistency :
              List.of(Consistency.LINEARIZABLE, Consistency.LEADER, Consistency.stale(0))) {
            if (consistency != Consistency.LEADER || node.role() == Role.LEADER) {
              say(
                  "gets, %s, %s, %d clients: %.0f/s",
                  node.role(), consistency, clients, rate(clients, getter(node, consistency)));
            }
          }
        }
      }
    }
  }

  /** From the death of the leader's process to the first put that returns. */
  @Test
  void failover() {
    long[] millis = new long[10];
    try (TestCluster cluster = new TestCluster(directory.resolve("failover"), 3)) {
      for (int i = 0; i < millis.length; i++) {
        int leader = cluster.awaitLeader(cluster.all());
        int other = cluster.others(leader).get(i % 2);
        assertEquals("done", cluster.answer(other, "put", "k", "before" + i));
        long start = System.nanoTime();
        cluster.node(leader).kill();
        assertEquals("done", cluster.answer(other, "put", "k", "after" + i));
        millis[i] = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        cluster.restart(leader);
      }
    }
    Arrays.sort(millis);
    say("failover, default times: %s ms, median %d", Arrays.toString(millis), millis[5]);
  }

  /** A new member gets all as a snapshot, while nothing and while much is written. */
  @Test
  void catchUp() throws Exception {
    for (int writers : List.of(0, 8)) {
      Path root = directory.resolve("copy" + writers);
      Map<String, String> addresses = addresses(2);
      Map<String, String> first = new LinkedHashMap<>(addresses);
      String joining = Objects.requireNonNull(first.remove("n1"));
      try (ReplicatedStore from = open(root, "n0", first, false)) {
        fill(from, (int) (COPY_BYTES / VALUE_BYTES));
        from.takeSnapshot();
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicLong written = new AtomicLong();
        List<Thread> threads = start(writers, stopped, written, putter(from.store()));
        long start = System.nanoTime();
        try (ReplicatedStore to = open(root, "n1", addresses, true)) {
          int calls = 1;
          while (!added(from, joining)) {
            calls++;
          }
          double seconds = (System.nanoTime() - start) / 1e9;
          stopped.set(true);
          for (Thread thread : threads) {
            thread.join();
          }
          say(
              "catch-up, %d bytes, %d writers (%d puts): %.1f s, %.0f MB/s, %d calls of add()",
              COPY_BYTES, writers, written.get(), seconds, COPY_BYTES / seconds / 1e6, calls);
          to.await(from.committedIndex(), Duration.ofMinutes(5));
        }
      }
    }
  }

  private static boolean added(ReplicatedStore member, String address) {
    try {
      member.add("n1", address);
      return true;
    } catch (ClusterException e) {
      say("%s", e + ", " + e.getCause());
      return false;
    }
  }

  private static BiConsumer<Random, byte[]> putter(KvStore store) {
    return (random, value) -> {
      random.nextBytes(value);
      store.put(key(random.nextInt(10_000_000)), value);
    };
  }

  private static BiConsumer<Random, byte[]> getter(ReplicatedStore node, Consistency consistency) {
    return (random, value) ->
        assertEquals(
            VALUE_BYTES,
            Objects.requireNonNull(node.get(key(random.nextInt(KEYS)), consistency)).length);
  }

  private static byte[] key(int number) {
    return ("key" + number).getBytes(UTF_8);
  }

  /** Calls a second, after a second of warming up. */
  private static double rate(int clients, BiConsumer<Random, byte[]> call) throws Exception {
    AtomicBoolean stopped = new AtomicBoolean();
    AtomicLong done = new AtomicLong();
    List<Thread> threads = start(clients, stopped, done, call);
    TimeUnit.SECONDS.timedJoin(threads.get(0), 1);
    long before = done.get();
    long start = System.nanoTime();
    TimeUnit.SECONDS.timedJoin(threads.get(0), SECONDS);
    double rate = (done.get() - before) * 1e9 / (System.nanoTime() - start);
    stopped.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    return rate;
  }

  private static List<Thread> start(
      int clients, AtomicBoolean stopped, AtomicLong done, BiConsumer<Random, byte[]> call) {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      Random random = new Random(i);
      Thread thread =
          new Thread(
              () -> {
                byte[] value = new byte[VALUE_BYTES];
                while (!stopped.get()) {
                  call.accept(random, value);
                  done.incrementAndGet();
                }
              });
      thread.start();
      threads.add(thread);
    }
    return threads;
  }

  private static void fill(ReplicatedStore node, int keys) {
    Random random = new Random(1);
    byte[] value = new byte[VALUE_BYTES];
    for (int i = 0; i < keys; ) {
      WriteBatch batch = new WriteBatch();
      for (int end = Math.min(keys, i + 1_000); i < end; i++) {
        random.nextBytes(value);
        batch.put(key(i), value);
      }
      node.write(batch);
    }
  }

  private static KvStore store(Path path) {
    return KvStore.open(
        path,
        KvOptions.builder().memoryBudgetBytes(64 << 20).durability(Durability.sync()).build());
  }

  private static Map<String, String> addresses(int nodes) throws IOException {
    Map<String, String> addresses = new LinkedHashMap<>();
    List<ServerSocket> held = new ArrayList<>();
    for (int i = 0; i < nodes; i++) {
      held.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
      addresses.put("n" + i, "127.0.0.1:" + held.get(i).getLocalPort());
    }
    for (ServerSocket socket : held) {
      socket.close();
    }
    return addresses;
  }

  private static ReplicatedStore open(
      Path root, String name, Map<String, String> peers, boolean joining) {
    return ReplicatedStore.open(
        ClusterOptions.builder(name, peers, root.resolve(name))
            .joining(joining)
            .store(store -> store.memoryBudgetBytes(64 << 20))
            .build());
  }

  @FormatMethod
  private static void say(String format, Object... values) {
    System.out.println(String.format(format, values));
  }

  /** Nodes of this process, with default times. */
  private static final class Group implements AutoCloseable {
    final List<ReplicatedStore> nodes = new ArrayList<>();

    Group(Path root, int count) throws IOException {
      Map<String, String> addresses = addresses(count);
      addresses.keySet().forEach(name -> nodes.add(open(root, name, addresses, false)));
    }

    ReplicatedStore leader() {
      ReplicatedStore[] found = new ReplicatedStore[1];
      Clients.await(
          () ->
              nodes.stream()
                  .filter(node -> node.role() == Role.LEADER)
                  .peek(node -> found[0] = node)
                  .findFirst()
                  .isPresent(),
          60,
          () -> "no leader");
      return found[0];
    }

    ReplicatedStore follower() {
      ReplicatedStore leader = leader();
      return nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
    }

    @Override
    public void close() {
      nodes.forEach(ReplicatedStore::close);
    }
  }
}
