package io.kvsep.collections;

import java.util.AbstractCollection;
import java.util.Iterator;
import java.util.Map;
import java.util.Spliterator;
import java.util.Spliterators;

/** The values of a map, in the order of their keys. */
final class Values<V> extends AbstractCollection<V> {
  private final KvMap<?, V> map;

  Values(KvMap<?, V> map) {
    this.map = map;
  }

  @Override
  public Iterator<V> iterator() {
    return values(map);
  }

  @Override
  public Spliterator<V> spliterator() {
    return Spliterators.spliteratorUnknownSize(
        iterator(), Spliterator.ORDERED | Spliterator.NONNULL | Spliterator.CONCURRENT);
  }

  @Override
  public int size() {
    return map.size();
  }

  @Override
  public boolean isEmpty() {
    return map.isEmpty();
  }

  @Override
  public boolean contains(Object value) {
    return map.containsValue(value);
  }

  @Override
  public void clear() {
    map.clear();
  }

  private static <K, V> Iterator<V> values(KvMap<K, V> map) {
    Iterator<Map.Entry<K, V>> entries = new EntrySet.EntryIterator<>(map);
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return entries.hasNext();
      }

      @Override
      public V next() {
        return entries.next().getValue();
      }

      @Override
      public void remove() {
        entries.remove();
      }
    };
  }
}
