package io.kvsep.collections;

import io.kvsep.KvEntry;
import java.util.AbstractMap.SimpleEntry;
import java.util.AbstractSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Spliterator;
import java.util.Spliterators;
import org.jspecify.annotations.Nullable;

/** The entries of a map. */
final class EntrySet<K, V> extends AbstractSet<Map.Entry<K, V>> {
  private final KvMap<K, V> map;

  EntrySet(KvMap<K, V> map) {
    this.map = map;
  }

  @Override
  public Iterator<Map.Entry<K, V>> iterator() {
    return new EntryIterator<>(map);
  }

  /** Without a size, unlike the default: counting costs a pass, and the count soon is outdated. */
  @Override
  public Spliterator<Map.Entry<K, V>> spliterator() {
    return Spliterators.spliteratorUnknownSize(
        iterator(),
        Spliterator.DISTINCT | Spliterator.ORDERED | Spliterator.NONNULL | Spliterator.CONCURRENT);
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
  public boolean contains(Object object) {
    return object instanceof Map.Entry<?, ?> entry
        && map.contains(entry.getKey(), entry.getValue());
  }

  @Override
  public boolean remove(Object object) {
    return object instanceof Map.Entry<?, ?> entry && map.remove(entry.getKey(), entry.getValue());
  }

  @Override
  public void clear() {
    map.clear();
  }

  static final class EntryIterator<K, V> implements Iterator<Map.Entry<K, V>> {
    private final KvMap<K, V> map;
    private final Chunks entries;
    private @Nullable LiveEntry<K, V> last;

    EntryIterator(KvMap<K, V> map) {
      this.map = map;
      this.entries = map.chunks(/* keysOnly= */ false);
    }

    @Override
    public boolean hasNext() {
      return entries.hasNext();
    }

    @Override
    public Map.Entry<K, V> next() {
      KvEntry stored = entries.next();
      last = null;
      LiveEntry<K, V> next = new LiveEntry<>(map, stored);
      last = next;
      return next;
    }

    @Override
    public void remove() {
      if (last == null) {
        throw new IllegalStateException("no entry to remove");
      }
      map.store.compareAndDelete(last.stored.key(), last.stored.value());
      last = null;
    }
  }

  /** Writes through. Not thread safe, as any entry of an iterator. */
  private static final class LiveEntry<K, V> extends SimpleEntry<K, V> {
    private static final long serialVersionUID = 1L;

    private final transient KvMap<K, V> map;
    private transient KvEntry stored;

    LiveEntry(KvMap<K, V> map, KvEntry stored) {
      super(map.keyCodec.decode(stored.key()), map.valueCodec.decode(stored.value()));
      this.map = map;
      this.stored = stored;
    }

    @Override
    public V setValue(V value) {
      KvEntry changed = new KvEntry(stored.key(), map.encodeValue(value));
      map.store.put(changed.key(), changed.value());
      stored = changed;
      return super.setValue(value);
    }
  }
}
