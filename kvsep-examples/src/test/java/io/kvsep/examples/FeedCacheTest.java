package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FeedCacheTest {
  private static final int KEYS = 50;

  @TempDir Path directory;

  @Test
  void theCacheFollowsTheStore() {
    Random random = new Random(60);
    try (KvStore store = KvStore.inMemory()) {
      store.put(key(1), bytes("before"));
      try (FeedCache cache = new FeedCache(store)) {
        assertSame(store, cache);
        for (int i = 0; i < 100; i++) {
          change(store, random);
          store.sync();
          cache.follow(Duration.ZERO);
          assertSame(store, cache);
        }
      }
    }
  }

  @Test
  void aBulkLoadIsFollowedByACopy() {
    try (KvStore store = KvStore.inMemory();
        FeedCache cache = new FeedCache(store)) {
      store.bulkLoad(List.of(Map.entry(key(1), bytes("loaded"))).iterator());
      cache.follow(Duration.ZERO);
      assertEquals(Optional.of("loaded"), cache.get(name(1)));

      store.put(key(1), bytes("later"));
      store.sync();
      cache.follow(Duration.ZERO);
      assertEquals(Optional.of("later"), cache.get(name(1)));
    }
  }

  @Test
  void theProgramRuns() {
    assertEquals(
        "not known yet\n3.50\nnot sold\n",
        Printed.by(() -> FeedCache.main(new String[] {directory.toString()})));
  }

  private static void change(KvStore store, Random random) {
    int first = random.nextInt(KEYS);
    switch (random.nextInt(5)) {
      case 0 -> store.delete(key(first));
      case 1 -> store.deleteRange(key(first), key(first + random.nextInt(4)));
      case 2 -> store.in(store.keyspace("other")).put(key(first), bytes("not in the cache"));
      case 3 ->
          store.write(
              new WriteBatch()
                  .put(key(first), bytes("a" + random.nextInt()))
                  .put(key(first + 1), bytes("b" + random.nextInt())));
      default -> store.put(key(first), bytes("c" + random.nextInt()));
    }
  }

  private static void assertSame(KvStore store, FeedCache cache) {
    for (int i = 0; i <= KEYS; i++) {
      Optional<String> stored =
          Optional.ofNullable(store.get(key(i))).map(value -> new String(value, UTF_8));
      assertEquals(stored, cache.get(name(i)), name(i));
    }
  }

  private static String name(int i) {
    return "key/" + (100 + i);
  }

  private static byte[] key(int i) {
    return bytes(name(i));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
