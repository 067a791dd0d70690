package io.kvsep.examples.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.collections.Codecs;
import io.kvsep.collections.KvMap;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.cache.Cache;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JCacheExampleTest {
  private final KvStore store = KvStore.inMemory();
  private final KvMap<String, Long> map = KvMap.open(store, Codecs.string(), Codecs.int64());
  private final Cache<String, Long> cache = new JCacheExample<>("numbers", map);

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void putsAndGets() {
    assertNull(cache.get("a"));
    cache.put("a", 1L);
    assertEquals(1, cache.getAndPut("a", 2L));
    assertFalse(cache.putIfAbsent("a", 3L));
    assertTrue(cache.putIfAbsent("b", 3L));
    cache.putAll(Map.of("c", 4L));
    assertTrue(cache.containsKey("c"));
    assertEquals(Map.of("a", 2L, "b", 3L), cache.getAll(Set.of("a", "b", "absent")));
  }

  @Test
  void replacesAndRemovesOnlyWhatIsThere() {
    assertFalse(cache.replace("a", 1L));
    assertFalse(cache.remove("a"));
    cache.put("a", 1L);
    assertFalse(cache.replace("a", 2L, 3L));
    assertTrue(cache.replace("a", 1L, 3L));
    assertEquals(3, cache.getAndReplace("a", 4L));
    assertFalse(cache.remove("a", 3L));
    assertTrue(cache.remove("a", 4L));
    assertNull(cache.getAndRemove("a"));
  }

  @Test
  void iteratesInOrderAndClears() {
    cache.putAll(Map.of("b", 2L, "a", 1L, "c", 3L));
    List<String> found = new ArrayList<>();
    cache.forEach(entry -> found.add(entry.getKey() + entry.getValue()));
    assertEquals(List.of("a1", "b2", "c3"), found);
    cache.removeAll(Set.of("a", "c"));
    assertEquals(1, map.size());
    cache.removeAll();
    assertTrue(map.isEmpty());
  }

  @Test
  void closedCacheThrowsAndLeavesTheMapAlone() {
    cache.put("a", 1L);
    assertSame(map, cache.unwrap(KvMap.class));
    assertThrows(UnsupportedOperationException.class, cache::getCacheManager);
    cache.close();
    assertTrue(cache.isClosed());
    assertThrows(IllegalStateException.class, () -> cache.get("a"));
    assertEquals(Map.of("a", 1L), map);
  }

  @Test
  void theProgramCountsVisits(@TempDir Path directory) {
    JCacheExample.main(new String[] {directory.toString()});
    JCacheExample.main(new String[] {directory.toString()});
    try (KvStore visits = KvStore.open(directory)) {
      assertEquals(Map.of("Ada", 2L), KvMap.open(visits, Codecs.string(), Codecs.int64()));
    }
  }
}
