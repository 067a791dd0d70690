package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Keyspace;
import io.kvsep.KvResources;
import io.kvsep.WriteBatch;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
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
