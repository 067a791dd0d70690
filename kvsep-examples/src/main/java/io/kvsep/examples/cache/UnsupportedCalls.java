package io.kvsep.examples.cache;

import java.util.Map;
import java.util.Set;
import javax.cache.Cache;
import javax.cache.CacheManager;
import javax.cache.configuration.CacheEntryListenerConfiguration;
import javax.cache.configuration.Configuration;
import javax.cache.integration.CompletionListener;
import javax.cache.processor.EntryProcessor;
import javax.cache.processor.EntryProcessorResult;

/** What {@link JCacheExample} does without: loaders, processors, listeners and a manager. */
abstract class UnsupportedCalls<K, V> implements Cache<K, V> {
  @Override
  public final void loadAll(
      Set<? extends K> keys, boolean replacesExisting, CompletionListener listener) {
    throw new UnsupportedOperationException("loadAll");
  }

  @Override
  public final <T> T invoke(K key, EntryProcessor<K, V, T> processor, Object... arguments) {
    throw new UnsupportedOperationException("invoke");
  }

  @Override
  public final <T> Map<K, EntryProcessorResult<T>> invokeAll(
      Set<? extends K> keys, EntryProcessor<K, V, T> processor, Object... arguments) {
    throw new UnsupportedOperationException("invokeAll");
  }

  @Override
  public final void registerCacheEntryListener(CacheEntryListenerConfiguration<K, V> listener) {
    throw new UnsupportedOperationException("registerCacheEntryListener");
  }

  @Override
  public final void deregisterCacheEntryListener(CacheEntryListenerConfiguration<K, V> listener) {
    throw new UnsupportedOperationException("deregisterCacheEntryListener");
  }

  @Override
  public final CacheManager getCacheManager() {
    throw new UnsupportedOperationException("getCacheManager");
  }

  @Override
  public final <C extends Configuration<K, V>> C getConfiguration(Class<C> type) {
    throw new UnsupportedOperationException("getConfiguration");
  }
}
