package io.kvsep.examples.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.collections.Codecs;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.cache.Cache;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

final class SpringCacheTest {
  private static final Duration TEN_MINUTES = Duration.ofMinutes(10);

  /** A bean whose calls are counted. */
  @EnableCaching
  static class Squares {
    static final AtomicInteger CALLS = new AtomicInteger();

    @Cacheable("squares")
    public long square(int number) {
      CALLS.incrementAndGet();
      return (long) number * number;
    }
  }

  @TempDir private Path directory;

  @Test
  void resultsSurviveRestart() {
    assertEquals(49, squareInNewContext());
    assertEquals(49, squareInNewContext());
    assertEquals(1, Squares.CALLS.get());
  }

  private long squareInNewContext() {
    try (KvStore store = KvStore.open(directory);
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.registerBean(
          CacheManager.class,
          () -> new SpringCache<>(store, Codecs.int32(), Codecs.int64(), TEN_MINUTES));
      context.register(Squares.class);
      context.refresh();
      Squares squares = context.getBean(Squares.class);
      squares.square(7);
      return squares.square(7);
    }
  }

  @Test
  void cacheKeepsItsContract() {
    try (KvStore store = KvStore.inMemory()) {
      SpringCache<String, String> caches =
          new SpringCache<>(store, Codecs.string(), Codecs.plainString(), TEN_MINUTES);
      Cache cache = caches.getCache("names");
      caches.getCache("others").put("a", "other");
      assertEquals(List.of("names", "others"), caches.getCacheNames());

      assertNull(cache.get("a"));
      assertEquals("Ada", cache.get("a", () -> "Ada"));
      assertEquals("Ada", cache.get("a", () -> "Grace"));
      assertEquals("Ada", cache.get("a", String.class));
      assertThrows(
          Cache.ValueRetrievalException.class,
          () ->
              cache.get(
                  "b",
                  () -> {
                    throw new IllegalStateException("no value");
                  }));
      assertThrows(IllegalArgumentException.class, () -> cache.put("b", null));
      assertNull(cache.putIfAbsent("b", "Bob"));
      assertEquals("Bob", Objects.requireNonNull(cache.putIfAbsent("b", "Ben")).get());
      assertTrue(cache.evictIfPresent("b"));
      assertFalse(cache.evictIfPresent("b"));
      cache.clear();
      assertNull(cache.get("a"));
      assertEquals("other", caches.getCache("others").get("a", String.class));
    }
  }

  @Test
  void entriesExpire() {
    Instant start = Instant.parse("2026-01-01T00:00:00Z");
    put(start);
    assertEquals("Ada", read(start.plus(TEN_MINUTES).minusMillis(1)));
    assertNull(read(start.plus(TEN_MINUTES)));
  }

  private void put(Instant now) {
    try (KvStore store = openAt(now)) {
      names(store).put("a", "Ada");
    }
  }

  private @Nullable String read(Instant now) {
    try (KvStore store = openAt(now)) {
      return names(store).get("a", String.class);
    }
  }

  private KvStore openAt(Instant now) {
    return KvStore.open(
        directory, KvOptions.builder().clock(Clock.fixed(now, ZoneOffset.UTC)).build());
  }

  private static Cache names(KvStore store) {
    return new SpringCache<>(store, Codecs.string(), Codecs.plainString(), TEN_MINUTES)
        .getCache("names");
  }

  @Test
  void theProgramRuns() {
    SpringCache.main(new String[] {directory.toString()});
    try (KvStore store = KvStore.open(directory)) {
      Cache greetings =
          new SpringCache<>(store, Codecs.string(), Codecs.plainString(), TEN_MINUTES)
              .getCache("greetings");
      assertEquals("Hello, Ada!", greetings.get("Ada", String.class));
    }
  }
}
