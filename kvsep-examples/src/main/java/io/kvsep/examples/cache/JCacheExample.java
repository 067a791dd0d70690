package io.kvsep.examples.cache;

import io.kvsep.KvStore;
import io.kvsep.collections.Codecs;
import io.kvsep.collections.KvMap;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import javax.cache.Cache;
import org.jspecify.annotations.Nullable;

/**
 * A map in a store as a {@code javax.cache.Cache}. Calls of one key are atomic.
 *
 * @param <K> type of the keys
 * @param <V> type of the values
 */
public final class JCacheExample<K, V> extends UnsupportedCalls<K, V> {
  private final String name;
  private final KvMap<K, V> map;
  private volatile boolean closed;

  /** The store of the map must stay open. */
  public JCacheExample(String name, KvMap<K, V> map) {
    this.name = name;
    this.map = map;
  }

  private KvMap<K, V> map() {
    if (closed) {
      throw new IllegalStateException("cache " + name + " is closed");
    }
    return map;
  }

  @Override
  public @Nullable V get(K key) {
    return map().get(key);
  }

  @Override
  public Map<K, V> getAll(Set<? extends K> keys) {
    Map<K, V> found = new HashMap<>();
    for (K key : keys) {
      V value = get(key);
      if (value != null) {
        found.put(key, value);
      }
    }
    return found;
  }

  @Override
  public boolean containsKey(K key) {
    return map().containsKey(key);
  }

  @Override
  public void put(K key, V value) {
    map().set(key, value);
  }

  @Override
  public @Nullable V getAndPut(K key, V value) {
    return map().put(key, value);
  }

  @Override
  public void putAll(Map<? extends K, ? extends V> entries) {
    map().putAll(entries);
  }

  @Override
  public boolean putIfAbsent(K key, V value) {
    return map().putIfAbsent(key, value) == null;
  }

  @Override
  public boolean remove(K key) {
    return map().remove(key) != null;
  }

  @Override
  public boolean remove(K key, V expected) {
    return map().remove(key, expected);
  }

  @Override
  public @Nullable V getAndRemove(K key) {
    return map().remove(key);
  }

  @Override
  public boolean replace(K key, V expected, V value) {
    return map().replace(key, expected, value);
  }

  @Override
  public boolean replace(K key, V value) {
    return map().replace(key, value) != null;
  }

  @Override
  public @Nullable V getAndReplace(K key, V value) {
    return map().replace(key, value);
  }

  @Override
  public void removeAll(Set<? extends K> keys) {
    keys.forEach(this::remove);
  }

  @Override
  public void removeAll() {
    clear();
  }

  @Override
  public void clear() {
    map().clear();
  }

  @Override
  public Iterator<Cache.Entry<K, V>> iterator() {
    Stream<Map.Entry<K, V>> entries = map().entrySet().stream();
    return entries.<Cache.Entry<K, V>>map(Found::new).iterator();
  }

  private record Found<K, V>(Map.Entry<K, V> entry) implements Cache.Entry<K, V> {
    @Override
    public K getKey() {
      return entry.getKey();
    }

    @Override
    public V getValue() {
      return entry.getValue();
    }

    @Override
    public <T> T unwrap(Class<T> type) {
      return type.cast(entry);
    }
  }

  @Override
  public String getName() {
    return name;
  }

  @Override
  public <T> T unwrap(Class<T> type) {
    return type.cast(map);
  }

  @Override
  public void close() {
    closed = true;
  }

  @Override
  public boolean isClosed() {
    return closed;
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "jcache-data");
    try (KvStore store = KvStore.open(directory);
        Cache<String, Long> visits =
            new JCacheExample<>("visits", KvMap.open(store, Codecs.string(), Codecs.int64()))) {
      visits.putIfAbsent("Ada", 0L);
      visits.replace("Ada", visits.get("Ada") + 1);
      visits.forEach(entry -> System.out.println(entry.getKey() + " " + entry.getValue()));
    }
  }
}
