package io.kvsep.collections;

import java.util.AbstractSet;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The keys of a map, without adding. */
class KeySet<E> extends AbstractSet<E> implements NavigableSet<E> {
  final KvMap<E, ?> map;

  KeySet(KvMap<E, ?> map) {
    this.map = map;
  }

  /** A set of the same kind with the keys of another map. */
  KeySet<E> of(KvMap<E, ?> other) {
    return new KeySet<>(other);
  }

  @Override
  public Iterator<E> iterator() {
    return new KeyIterator<>(map);
  }

  @Override
  public Iterator<E> descendingIterator() {
    return new KeyIterator<>(map.descendingMap());
  }

  /** Without a size, unlike the default: counting costs a pass, and the count soon is outdated. */
  @Override
  public Spliterator<E> spliterator() {
    int characteristics =
        Spliterator.DISTINCT
            | Spliterator.SORTED
            | Spliterator.ORDERED
            | Spliterator.NONNULL
            | Spliterator.CONCURRENT;
    return new Spliterators.AbstractSpliterator<E>(Long.MAX_VALUE, characteristics) {
      private final Iterator<E> keys = iterator();

      @Override
      public boolean tryAdvance(Consumer<? super E> action) {
        if (!keys.hasNext()) {
          return false;
        }
        action.accept(keys.next());
        return true;
      }

      @Override
      public @Nullable Comparator<? super E> getComparator() {
        return comparator();
      }
    };
  }

  @Override
  public @Nullable Comparator<? super E> comparator() {
    return map.comparator();
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
  public boolean contains(Object key) {
    return map.containsKey(key);
  }

  @Override
  public boolean remove(Object key) {
    return map.remove(key) != null;
  }

  @Override
  public void clear() {
    map.clear();
  }

  @Override
  public E first() {
    return map.firstKey();
  }

  @Override
  public E last() {
    return map.lastKey();
  }

  @Override
  public @Nullable E lower(E key) {
    return map.lowerKey(key);
  }

  @Override
  public @Nullable E floor(E key) {
    return map.floorKey(key);
  }

  @Override
  public @Nullable E ceiling(E key) {
    return map.ceilingKey(key);
  }

  @Override
  public @Nullable E higher(E key) {
    return map.higherKey(key);
  }

  @Override
  public @Nullable E pollFirst() {
    return key(map.pollFirstEntry());
  }

  @Override
  public @Nullable E pollLast() {
    return key(map.pollLastEntry());
  }

  @Override
  public NavigableSet<E> descendingSet() {
    return of(map.descendingMap());
  }

  @Override
  public NavigableSet<E> subSet(E from, boolean isFromInclusive, E to, boolean isToInclusive) {
    return of(map.subMap(from, isFromInclusive, to, isToInclusive));
  }

  @Override
  public NavigableSet<E> headSet(E to, boolean isInclusive) {
    return of(map.headMap(to, isInclusive));
  }

  @Override
  public NavigableSet<E> tailSet(E from, boolean isInclusive) {
    return of(map.tailMap(from, isInclusive));
  }

  @Override
  public NavigableSet<E> subSet(E from, E to) {
    return subSet(from, true, to, false);
  }

  @Override
  public NavigableSet<E> headSet(E to) {
    return headSet(to, false);
  }

  @Override
  public NavigableSet<E> tailSet(E from) {
    return tailSet(from, true);
  }

  private static <E> @Nullable E key(Map.@Nullable Entry<E, ?> entry) {
    return entry == null ? null : entry.getKey();
  }

  private static final class KeyIterator<E> implements Iterator<E> {
    private final KvMap<E, ?> map;
    private final Chunks entries;
    private byte @Nullable [] last;

    KeyIterator(KvMap<E, ?> map) {
      this.map = map;
      this.entries = map.chunks(/* keysOnly= */ true);
    }

    @Override
    public boolean hasNext() {
      return entries.hasNext();
    }

    @Override
    public E next() {
      byte[] next = entries.next().key();
      last = next;
      return map.keyCodec.decode(next);
    }

    @Override
    public void remove() {
      if (last == null) {
        throw new IllegalStateException("no key to remove");
      }
      map.store.delete(last);
      last = null;
    }
  }
}
