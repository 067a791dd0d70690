package io.kvsep.collections;

import io.kvsep.KeyspaceView;
import java.time.Duration;

/**
 * A sorted concurrent set in a keyspace of a store: the keys of a {@link KvMap} with empty values.
 * What is said there of order, atomicity, iterators, cost and errors holds here. {@link #add},
 * {@link #remove}, {@link #pollFirst} and {@link #pollLast} are atomic. Sub-sets and descending
 * sets read and write the same keyspace.
 *
 * @param <E> type of the elements
 */
public final class KvSet<E> extends KeySet<E> {
  private static final byte[] VALUE = {};

  private KvSet(KvMap<E, ?> map) {
    super(map);
  }

  /**
   * {@return the set in a keyspace} Costs nothing and needs no closing.
   *
   * @param <E> type of the elements
   * @param keyspace the keyspace, or the store for its own
   * @param elements codec of the elements
   */
  public static <E> KvSet<E> open(KeyspaceView keyspace, Codec<E> elements) {
    return new KvSet<>(KvMap.open(keyspace, elements, Codecs.plainBytes()));
  }

  /** Adds an element; one that is present keeps its time to live. */
  @Override
  public boolean add(E element) {
    return map.setIfAbsent(map.writableKey(element), VALUE) == null;
  }

  /**
   * Adds an element that expires after {@code timeToLive}; one that is present gets this time to
   * live.
   *
   * @param element the element
   * @param timeToLive how long the element is in the set
   * @throws IllegalArgumentException if {@code timeToLive} is zero or negative
   */
  public void add(E element, Duration timeToLive) {
    map.store.put(map.writableKey(element), VALUE, timeToLive);
  }

  /**
   * Gives an element that is present a new time to live, counted from now. Atomic.
   *
   * @param element the element
   * @param timeToLive how long the element is in the set from now
   * @return whether the element is present
   * @throws IllegalArgumentException if {@code timeToLive} is zero or negative
   */
  public boolean expire(E element, Duration timeToLive) {
    return map.expire(element, timeToLive);
  }

  @Override
  KvSet<E> of(KvMap<E, ?> other) {
    return new KvSet<>(other);
  }
}
