package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Keyspace;
import io.kvsep.KeyspaceView;
import io.kvsep.KvResources;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.Snapshot;
import io.kvsep.WriteBatch;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class ShardedStoreTest {
  @TempDir Path directory;

  @Test
  void slotsAreThoseOfRedis() {
    assertEquals(12_739, Slots.of(bytes("123456789")));
    assertEquals(12_182, Slots.of(bytes("foo")));
    assertEquals(Slots.of(bytes("user1000")), Slots.of(bytes("{user1000}.following")));
    assertEquals(Slots.of(bytes("{bar")), Slots.of(bytes("foo{{bar}}zap")));
  }

  @Test
  void keysAreSpreadAndKept() throws Exception {
    ClusterOptions options = options();
    try (KvResources resources = KvResources.builder().memoryBudgetBytes(32 << 20).build()) {
      Keyspace users;
      try (ShardedStore store = ShardedStore.open(options, 3, resources)) {
        users = store.keyspace("users");
        for (int i = 0; i < 30; i++) {
          byte[] key = bytes("k" + i);
          store.write(new WriteBatch().put(key, bytes("v" + i)).in(users).put(key, bytes("u")));
        }
        for (int shard = 0; shard < 3; shard++) {
          int keys =
              store.shard(shard).store().getAll(keys()).stream()
                  .mapToInt(v -> v == null ? 0 : 1)
                  .sum();
          assertTrue(keys > 0 && keys < 30);
        }
        WriteBatch both =
            new WriteBatch().put(bytes("k0"), bytes("x")).put(other(store, "k0"), bytes("x"));
        assertThrows(IllegalArgumentException.class, () -> store.write(both));
        assertThrows(
            IllegalArgumentException.class,
            () -> store.write(new WriteBatch().deleteRange(bytes("a"), bytes("b"))));
        assertArrayEquals(bytes("v0"), store.get(bytes("k0"), Consistency.LINEARIZABLE));
      }
      assertThrows(IllegalArgumentException.class, () -> ShardedStore.open(options, 4, resources));
      try (ShardedStore store = ShardedStore.open(options, 3, resources)) {
        for (int i = 0; i < 30; i++) {
          assertArrayEquals(bytes("v" + i), store.get(bytes("k" + i), Consistency.LINEARIZABLE));
        }
        assertNull(store.get(bytes("absent"), Consistency.LINEARIZABLE));
      }
    }
  }

  @Test
  void allShardsAreOneStore() throws Exception {
    try (KvResources resources = KvResources.builder().memoryBudgetBytes(32 << 20).build();
        ShardedStore sharded = ShardedStore.open(options(), 3, resources)) {
      KvStore store = sharded.store();
      for (byte[] key : keys()) {
        store.put(key, key);
      }
      List<String> found = new ArrayList<>();
      store.forEach(ScanOptions.all(), (key, value) -> found.add(new String(key, UTF_8)));
      assertEquals(keys().stream().map(key -> new String(key, UTF_8)).sorted().toList(), found);
      byte[] first = bytes("k0");
      byte[] other = other(sharded, "k0");
      assertArrayEquals(bytes("k9"), Objects.requireNonNull(store.last()).key());

      assertThrows(
          CrossShardException.class,
          () ->
              store.transact(
                  transaction -> {
                    transaction.put(first, bytes("x"));
                    transaction.put(other, bytes("x"));
                    return "";
                  }));
      assertArrayEquals(first, store.get(first));
      byte[] before =
          store.<byte[]>transact(
              transaction -> {
                byte[] value = Objects.requireNonNull(transaction.get(other));
                transaction.delete(other);
                return value;
              });
      assertArrayEquals(other, before);
      assertNull(store.get(other));
      assertEquals("none", store.transact(transaction -> "none"));
      assertThrows(CrossShardException.class, () -> store.getAll(List.of(first, other)));
      assertEquals(2, store.getAll(List.of(first, first)).size());

      try (Snapshot snapshot = store.snapshot()) {
        assertArrayEquals(first, snapshot.get(first));
        store.put(first, bytes("y"));
        assertArrayEquals(first, snapshot.get(first));
        assertThrows(CrossShardException.class, () -> snapshot.get(other));
        assertThrows(CrossShardException.class, snapshot::cursor);
        assertThrows(UnsupportedOperationException.class, snapshot::sequence);
      }
      assertTrue(store.compareAndSet(first, bytes("y"), bytes("z")));
      assertEquals(3, store.increment(bytes("counter"), 3));
      KeyspaceView users = store.in(store.keyspace("users"));
      users.put(other, bytes("user"));
      assertEquals(List.of("users"), store.keyspaces());
      assertThrows(UnsupportedOperationException.class, () -> store.changes(0));
      assertThrows(UnsupportedOperationException.class, store::buffer);
      assertThrows(IllegalArgumentException.class, () -> sharded.store(Consistency.stale(9)));
      assertTrue(store.verify().isSound());
      assertTrue(store.stats().entriesEstimate() >= 31);

      users.deleteRange(bytes("a"), bytes("z"));
      assertNull(users.first());
      store.dropKeyspace(store.keyspace("users"));
      assertEquals(List.of(), store.keyspaces());
    }
  }

  /** One shard leaves a node for a new one; the other shard stays where it is. */
  @Test
  void leadersAreSpreadAndAReplicaIsMoved() throws Exception {
    Map<String, String> all = TestGroup.freeAddresses(List.of("a", "b", "c", "d"));
    Map<String, String> first = new TreeMap<>(all);
    first.remove("d");
    Map<String, ShardedStore> nodes = new TreeMap<>();
    try (KvResources resources = KvResources.builder().memoryBudgetBytes(64 << 20).build()) {
      try {
        for (String name : first.keySet()) {
          nodes.put(name, open(name, first, false, resources));
        }
        ShardedStore a = required(nodes, "a");
        awaitLeader(nodes, 0, "a");
        awaitLeader(nodes, 1, "b");
        for (byte[] key : keys()) {
          a.write(new WriteBatch().put(key, key));
        }
        WriteBatch both = new WriteBatch().put(bytes("k0"), bytes("x"));
        both.put(other(a, "k0"), bytes("x"));
        assertThrows(IllegalArgumentException.class, () -> a.write(both));

        ShardedStore d = open("d", all, true, resources);
        nodes.put("d", d);
        ReplicatedStore moved = required(nodes, "b").shard(0);
        moved.add("d", Objects.requireNonNull(all.get("d")));
        moved.remove("a");
        assertEquals(Set.of("b", "c", "d"), moved.members().keySet());
        assertEquals(first.keySet(), required(nodes, "b").shard(1).members().keySet());
        moved.transferLeadership("d");
        awaitLeader(nodes, 0, "d");
        // Not the node that was preferred.
        required(nodes, "b").shard(1).transferLeadership("c");
        awaitLeader(nodes, 1, "c");
        for (byte[] key : keys()) {
          if (d.indexOf(key) == 0) {
            assertArrayEquals(key, d.get(key, Consistency.LINEARIZABLE));
          }
        }
      } finally {
        TestGroup.closeAll(nodes.values());
      }
    }
  }

  /** Each node was alone at its first start, so no shard could have a leader. */
  @Test
  void nodesThatStoppedBeforeTheFirstElectionElectLater() throws Exception {
    Map<String, String> peers = TestGroup.freeAddresses(List.of("a", "b", "c"));
    Map<String, ShardedStore> nodes = new TreeMap<>();
    try (KvResources resources = KvResources.builder().memoryBudgetBytes(64 << 20).build()) {
      for (String name : peers.keySet()) {
        open(name, peers, false, resources).close();
      }
      try {
        for (String name : peers.keySet()) {
          nodes.put(name, open(name, peers, false, resources));
        }
        awaitLeader(nodes, 0, "a");
        awaitLeader(nodes, 1, "b");
        ShardedStore c = required(nodes, "c");
        for (byte[] key : keys()) {
          c.write(new WriteBatch().put(key, key));
          assertArrayEquals(key, c.get(key, Consistency.LINEARIZABLE));
        }
      } finally {
        TestGroup.closeAll(nodes.values());
      }
    }
  }

  private static void awaitLeader(Map<String, ShardedStore> nodes, int shard, String name) {
    TestGroup.await(() -> required(nodes, name).shard(shard).role() == Role.LEADER);
  }

  private static ShardedStore required(Map<String, ShardedStore> nodes, String name) {
    return Objects.requireNonNull(nodes.get(name));
  }

  private ShardedStore open(
      String name, Map<String, String> peers, boolean joining, KvResources resources) {
    ClusterOptions.Builder options =
        TestGroup.options(name, peers, directory.resolve(name)).store(store -> {});
    return ShardedStore.open(options.joining(joining).build(), 2, resources);
  }

  private static List<byte[]> keys() {
    return IntStream.range(0, 30).mapToObj(i -> bytes("k" + i)).toList();
  }

  private static byte[] other(ShardedStore store, String key) {
    return keys().stream()
        .filter(found -> store.indexOf(found) != store.indexOf(bytes(key)))
        .findFirst()
        .orElseThrow();
  }

  private ClusterOptions options() throws Exception {
    int port;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
    return ClusterOptions.builder("a", Map.of("a", "127.0.0.1:" + port), directory)
        .electionTimeout(Duration.ofMillis(150), Duration.ofMillis(300))
        .requestBytesMax(1 << 20)
        .build();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
