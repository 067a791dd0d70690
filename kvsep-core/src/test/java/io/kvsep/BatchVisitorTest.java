package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class BatchVisitorTest {
  @Test
  void visitorReceivesEveryWriteInOrder() {
    try (KvStore store = KvStore.inMemory()) {
      Keyspace users = store.keyspace("users");
      Keyspace orders = store.keyspaces(manyNames()).get(299);
      WriteBatch batch =
          new WriteBatch()
              .put(bytes("a"), bytes("1"))
              .in(users)
              .put(bytes("b"), bytes(""), Duration.ofMillis(7))
              .delete(bytes("c"))
              .deleteRange(bytes(""), bytes("z"))
              .in(orders)
              .deleteRange(bytes("d"), bytes("e"))
              .inDefault()
              .putUntil(bytes("f"), bytes("2"), 12)
              .deleteRange(bytes("z"), bytes("a"));
      assertEquals(
          List.of(
              "put null a=1",
              "put users b= for PT0.007S",
              "delete users c",
              "delete users -z",
              "delete name299 d-e",
              "put null f=2 until 12"),
          visited(batch));
    }
  }

  @Test
  void emptyBatchHasNothingToVisit() {
    WriteBatch batch = new WriteBatch().put(bytes("a"), bytes("1"));
    batch.clear();
    assertEquals(List.of(), visited(batch));
  }

  private static List<String> manyNames() {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      names.add("name" + i);
    }
    return names;
  }

  private static List<String> visited(WriteBatch batch) {
    List<String> visited = new ArrayList<>();
    batch.forEach(
        new WriteBatch.Visitor() {
          @Override
          public void put(@Nullable Keyspace keyspace, byte[] key, byte[] value) {
            visited.add("put " + name(keyspace) + " " + text(key) + "=" + text(value));
          }

          @Override
          public void put(
              @Nullable Keyspace keyspace, byte[] key, byte[] value, Duration timeToLive) {
            put(keyspace, key, value);
            visited.add(visited.remove(visited.size() - 1) + " for " + timeToLive);
          }

          @Override
          public void putUntil(
              @Nullable Keyspace keyspace, byte[] key, byte[] value, long expiresAtMillis) {
            put(keyspace, key, value);
            visited.add(visited.remove(visited.size() - 1) + " until " + expiresAtMillis);
          }

          @Override
          public void delete(@Nullable Keyspace keyspace, byte[] key) {
            visited.add("delete " + name(keyspace) + " " + text(key));
          }

          @Override
          public void deleteRange(@Nullable Keyspace keyspace, byte[] from, byte[] to) {
            visited.add("delete " + name(keyspace) + " " + text(from) + "-" + text(to));
          }
        });
    return visited;
  }

  private static String name(@Nullable Keyspace keyspace) {
    return keyspace == null ? "null" : keyspace.name();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
