package io.kvsep.examples.cache;

import io.kvsep.KvStore;
import io.kvsep.collections.Codec;
import io.kvsep.collections.Codecs;
import io.kvsep.collections.KvMap;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;
import org.springframework.cache.Cache;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.support.AbstractValueAdaptingCache;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/**
 * The caches of Spring in a store: what {@code @Cacheable} methods have returned survives a restart
 * and expires. Each cache is a map in a keyspace of its name. Nulls are not cached: say {@code
 * unless = "#result == null"} where a method returns them.
 *
 * @param <K> type of the keys
 * @param <V> type of the values
 */
public final class SpringCache<K, V> implements CacheManager {
  private final KvStore store;
  private final Codec<K> keys;
  private final Codec<V> values;
  private final Duration timeToLive;
  private final ConcurrentMap<String, Cache> caches = new ConcurrentHashMap<>();

  /** The store must stay open; its other keyspaces count as caches. */
  public SpringCache(KvStore store, Codec<K> keys, Codec<V> values, Duration timeToLive) {
    this.store = store;
    this.keys = keys;
    this.values = values;
    this.timeToLive = timeToLive;
  }

  @Override
  public Cache getCache(String name) {
    return caches.computeIfAbsent(
        name,
        absent ->
            new MapCache<>(
                name, KvMap.open(store.in(store.keyspace(name)), keys, values), timeToLive));
  }

  @Override
  public Collection<String> getCacheNames() {
    return store.keyspaces();
  }

  @SuppressWarnings("unchecked") // A key or value of another type makes the codec throw.
  private static final class MapCache<K, V> extends AbstractValueAdaptingCache {
    private final String name;
    private final KvMap<K, V> map;
    private final Duration timeToLive;

    MapCache(String name, KvMap<K, V> map, Duration timeToLive) {
      super(/* allowNullValues= */ false);
      this.name = name;
      this.map = map;
      this.timeToLive = timeToLive;
    }

    @Override
    public String getName() {
      return name;
    }

    @Override
    public Object getNativeCache() {
      return map;
    }

    @Override
    protected @Nullable Object lookup(Object key) {
      return map.get(key);
    }

    /** Threads that miss the same key at once all load it. */
    @Override
    public <T> T get(Object key, Callable<T> loader) {
      Object found = map.get(key);
      if (found == null) {
        try {
          found = loader.call();
        } catch (Exception e) {
          throw new ValueRetrievalException(key, loader, e);
        }
        put(key, found);
      }
      return (T) found;
    }

    @Override
    public void put(Object key, @Nullable Object value) {
      map.put((K) key, (V) toStoreValue(value), timeToLive);
    }

    @Override
    public void evict(Object key) {
      map.remove(key);
    }

    @Override
    public boolean evictIfPresent(Object key) {
      return map.remove(key) != null;
    }

    @Override
    public void clear() {
      map.clear();
    }
  }

  /** A bean with a method that is worth caching. */
  @EnableCaching
  public static class Greetings {
    @Cacheable("greetings")
    public String greeting(String name) {
      System.out.println("composing a greeting for " + name);
      return "Hello, " + name + "!";
    }
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "spring-cache-data");
    try (KvStore store = KvStore.open(directory);
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.registerBean(
          CacheManager.class,
          () ->
              new SpringCache<>(
                  store, Codecs.string(), Codecs.plainString(), Duration.ofMinutes(10)));
      context.register(Greetings.class);
      context.refresh();
      System.out.println(context.getBean(Greetings.class).greeting("Ada"));
      System.out.println(context.getBean(Greetings.class).greeting("Ada"));
    }
  }
}
