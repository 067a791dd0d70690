package io.kvsep.collections;

import io.kvsep.KeyspaceView;
import io.kvsep.KvCursor;
import io.kvsep.KvEntry;
import io.kvsep.ScanOptions;
import java.time.Duration;
import java.util.AbstractMap;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Map;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A sorted concurrent map in a keyspace of a store. Keys are in the order of their encodings, see
 * {@link #comparator}. Sub-maps, descending maps and the collection views read and write the same
 * keyspace. A keyspace holds one map and nothing else.
 *
 * <p>Every call of one key is atomic, those with functions included: a function runs again if the
 * entry was written meanwhile, so it must be free of side effects. Writes are durable as the store
 * says. Calls of many entries, such as {@link #putAll} and {@link #clear}, are not atomic; a {@link
 * io.kvsep.Transaction} is, and the codecs serve there, too.
 *
 * <p>Iterators, spliterators and streams are weakly consistent: they read up to 1,024 entries at a
 * time and see later writes behind those. They hold nothing of the store between calls and need no
 * closing. {@code remove} of an iterator over entries or values does nothing if the value was
 * changed meanwhile, so {@code values().removeIf(…)} never removes a value that it did not test. An
 * entry of {@link #entrySet} writes through {@code setValue}, also if the key was removed.
 *
 * <p>Values are equal if their encodings are, or else by {@link Object#equals}. What the map
 * returns is decoded anew: changing it does not change the map.
 *
 * <p>Cost: a get is one read. {@code put}, {@code remove} and the like also read the former value;
 * {@link #set} does not. {@link #size}, {@code equals}, {@code hashCode}, {@code toString} and
 * {@link #containsValue} read all entries.
 *
 * <p>Thread safe. Errors are those of {@link io.kvsep.KvReader} and {@link io.kvsep.KvWriter}, and
 * {@link DecodeException}; nulls throw {@link NullPointerException}. Keys whose encoding is empty
 * or over 65,535 bytes throw {@link io.kvsep.error.LimitExceededException}. The map does not close
 * the store.
 *
 * @param <K> type of the keys
 * @param <V> type of the values
 */
public final class KvMap<K, V> extends AbstractMap<K, V> implements ConcurrentNavigableMap<K, V> {
  private static final byte[] EMPTY = {};

  final KeyspaceView store;
  final Codec<K> keyCodec;
  final Codec<V> valueCodec;
  private final KeyRange range;
  private final boolean isDescending;

  private KvMap(
      KeyspaceView store,
      Codec<K> keyCodec,
      Codec<V> valueCodec,
      KeyRange range,
      boolean isDescending) {
    this.store = store;
    this.keyCodec = keyCodec;
    this.valueCodec = valueCodec;
    this.range = range;
    this.isDescending = isDescending;
  }

  /**
   * {@return the map in a keyspace} Costs nothing and needs no closing.
   *
   * @param <K> type of the keys
   * @param <V> type of the values
   * @param keyspace the keyspace, or the store for its own
   * @param keys codec of the keys
   * @param values codec of the values
   */
  public static <K, V> KvMap<K, V> open(KeyspaceView keyspace, Codec<K> keys, Codec<V> values) {
    return new KvMap<>(
        Objects.requireNonNull(keyspace, "keyspace"),
        Objects.requireNonNull(keys, "keys"),
        Objects.requireNonNull(values, "values"),
        KeyRange.ALL,
        /* isDescending= */ false);
  }

  @Override
  public @Nullable V get(Object key) {
    byte[] encoded = encodeKey(key);
    return range.contains(encoded) ? decodeNullable(store.get(encoded)) : null;
  }

  @Override
  public boolean containsKey(Object key) {
    byte[] encoded = encodeKey(key);
    return range.contains(encoded) && store.contains(encoded);
  }

  @Override
  public boolean containsValue(Object value) {
    byte[] encoded = encodeValue(value);
    Chunks entries = chunks(/* keysOnly= */ false);
    while (entries.hasNext()) {
      if (isEqual(entries.next().value(), encoded, value)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public @Nullable V put(K key, V value) {
    byte[] encoded = encodeValue(value);
    return exchange(writableKey(key), found -> encoded);
  }

  /**
   * As {@link #put(Object, Object)}, without reading the former value.
   *
   * @param key the key
   * @param value the value
   */
  public void set(K key, V value) {
    store.put(writableKey(key), encodeValue(value));
  }

  /**
   * As {@link #set}; the entry expires after {@code timeToLive}. Any later write of the key removes
   * the time to live, also by {@link #merge} and the like.
   *
   * @param key the key
   * @param value the value
   * @param timeToLive how long the entry exists
   * @throws IllegalArgumentException if {@code timeToLive} is zero or negative
   */
  public void put(K key, V value, Duration timeToLive) {
    store.put(writableKey(key), encodeValue(value), timeToLive);
  }

  /**
   * Gives an existing entry a new time to live, counted from now; returns false if there is none.
   * Atomic; writes the value again.
   *
   * @param key the key
   * @param timeToLive how long the entry exists from now
   * @return whether there was an entry
   * @throws IllegalArgumentException if {@code timeToLive} is zero or negative
   */
  public boolean expire(K key, Duration timeToLive) {
    byte[] encoded = encodeKey(key);
    return range.contains(encoded) && store.expire(encoded, timeToLive);
  }

  /** Sets each entry, as {@link #set} does; not atomic. */
  @Override
  public void putAll(Map<? extends K, ? extends V> entries) {
    entries.forEach(this::set);
  }

  @Override
  public @Nullable V putIfAbsent(K key, V value) {
    return decodeNullable(setIfAbsent(writableKey(key), encodeValue(value)));
  }

  @Override
  public @Nullable V remove(Object key) {
    byte[] encoded = encodeKey(key);
    return range.contains(encoded) ? exchange(encoded, found -> null) : null;
  }

  @Override
  public boolean remove(Object key, Object value) {
    return replaceEqual(encodeKey(key), value, null);
  }

  @Override
  public boolean replace(K key, V expected, V value) {
    return replaceEqual(writableKey(key), expected, encodeValue(value));
  }

  @Override
  public @Nullable V replace(K key, V value) {
    byte[] encoded = encodeValue(value);
    return exchange(writableKey(key), found -> found == null ? null : encoded);
  }

  @Override
  public @Nullable V compute(
      K key, BiFunction<? super K, ? super @Nullable V, ? extends @Nullable V> function) {
    Objects.requireNonNull(function, "function");
    return update(writableKey(key), found -> function.apply(key, found));
  }

  @Override
  public @Nullable V computeIfPresent(
      K key, BiFunction<? super K, ? super V, ? extends @Nullable V> function) {
    Objects.requireNonNull(function, "function");
    byte[] encoded = encodeKey(key);
    return range.contains(encoded)
        ? update(encoded, found -> found == null ? null : function.apply(key, found))
        : null;
  }

  @Override
  public @Nullable V merge(
      K key, V value, BiFunction<? super V, ? super V, ? extends @Nullable V> function) {
    Objects.requireNonNull(value, "value");
    Objects.requireNonNull(function, "function");
    return update(writableKey(key), found -> found == null ? value : function.apply(found, value));
  }

  /** Computes each present entry, as {@link #computeIfPresent} does; not atomic as a whole. */
  @Override
  public void replaceAll(BiFunction<? super K, ? super V, ? extends V> function) {
    Objects.requireNonNull(function, "function");
    for (K key : keySet()) {
      computeIfPresent(
          key, (same, found) -> Objects.requireNonNull(function.apply(same, found), "result"));
    }
  }

  /**
   * {@return the number of entries, at most {@link Integer#MAX_VALUE}} Counts them: reads all keys.
   * {@link io.kvsep.KvReader#approximateCount} of the store takes some microseconds.
   */
  @Override
  public int size() {
    return (int) Math.min(mappingCount(), Integer.MAX_VALUE);
  }

  /** {@return the number of entries, counted as by {@link #size}} */
  public long mappingCount() {
    long count = 0;
    try (KvCursor cursor = store.cursor(range.options(/* isDescending= */ false).keysOnly())) {
      while (cursor.next()) {
        count++;
      }
    }
    return count;
  }

  @Override
  public boolean isEmpty() {
    return edge(range, /* isLast= */ false, /* keysOnly= */ true) == null;
  }

  /**
   * Removes the entries by one deleted range, see {@link io.kvsep.KvWriter#deleteRange}. Entries
   * that are written meanwhile may remain.
   */
  @Override
  public void clear() {
    KvEntry last = edge(range, /* isLast= */ true, /* keysOnly= */ true);
    if (last != null) {
      // Not to the end of the range: a bound that follows the longest key would be too long.
      byte[] from = range.from();
      store.deleteRange(from == null ? EMPTY : from, last.key());
      store.delete(last.key());
    }
  }

  /**
   * {@return null if the keys are in natural order, else the order of their encodings as a
   * comparator} See {@link Codec#comparator}.
   */
  @Override
  public @Nullable Comparator<? super K> comparator() {
    Comparator<? super K> ascending = keyCodec.comparator();
    return isDescending ? Collections.reverseOrder(ascending) : ascending;
  }

  @Override
  public K firstKey() {
    return presentKey(edge(range, isDescending, /* keysOnly= */ true));
  }

  @Override
  public K lastKey() {
    return presentKey(edge(range, !isDescending, /* keysOnly= */ true));
  }

  @Override
  public Map.@Nullable Entry<K, V> firstEntry() {
    return immutable(edge(range, isDescending, /* keysOnly= */ false));
  }

  @Override
  public Map.@Nullable Entry<K, V> lastEntry() {
    return immutable(edge(range, !isDescending, /* keysOnly= */ false));
  }

  @Override
  public Map.@Nullable Entry<K, V> pollFirstEntry() {
    return poll(isDescending);
  }

  @Override
  public Map.@Nullable Entry<K, V> pollLastEntry() {
    return poll(!isDescending);
  }

  @Override
  public @Nullable K lowerKey(K key) {
    return decodeKey(neighbour(key, /* isInclusive= */ false, !isDescending, /* keysOnly= */ true));
  }

  @Override
  public @Nullable K floorKey(K key) {
    return decodeKey(neighbour(key, /* isInclusive= */ true, !isDescending, /* keysOnly= */ true));
  }

  @Override
  public @Nullable K ceilingKey(K key) {
    return decodeKey(neighbour(key, /* isInclusive= */ true, isDescending, /* keysOnly= */ true));
  }

  @Override
  public @Nullable K higherKey(K key) {
    return decodeKey(neighbour(key, /* isInclusive= */ false, isDescending, /* keysOnly= */ true));
  }

  @Override
  public Map.@Nullable Entry<K, V> lowerEntry(K key) {
    return immutable(neighbour(key, false, !isDescending, /* keysOnly= */ false));
  }

  @Override
  public Map.@Nullable Entry<K, V> floorEntry(K key) {
    return immutable(neighbour(key, true, !isDescending, /* keysOnly= */ false));
  }

  @Override
  public Map.@Nullable Entry<K, V> ceilingEntry(K key) {
    return immutable(neighbour(key, true, isDescending, /* keysOnly= */ false));
  }

  @Override
  public Map.@Nullable Entry<K, V> higherEntry(K key) {
    return immutable(neighbour(key, false, isDescending, /* keysOnly= */ false));
  }

  @Override
  public KvMap<K, V> descendingMap() {
    return new KvMap<>(store, keyCodec, valueCodec, range, !isDescending);
  }

  @Override
  public KvMap<K, V> subMap(K from, boolean isFromInclusive, K to, boolean isToInclusive) {
    byte[] first = encodeKey(from);
    byte[] last = encodeKey(to);
    int order = Arrays.compareUnsigned(first, last);
    if (isDescending ? order < 0 : order > 0) {
      throw new IllegalArgumentException("the first bound is behind the second");
    }
    return isDescending
        ? with(range.boundedFrom(last, isToInclusive).boundedTo(first, isFromInclusive))
        : with(range.boundedFrom(first, isFromInclusive).boundedTo(last, isToInclusive));
  }

  @Override
  public KvMap<K, V> headMap(K to, boolean isInclusive) {
    byte[] bound = encodeKey(to);
    return with(
        isDescending ? range.boundedFrom(bound, isInclusive) : range.boundedTo(bound, isInclusive));
  }

  @Override
  public KvMap<K, V> tailMap(K from, boolean isInclusive) {
    byte[] bound = encodeKey(from);
    return with(
        isDescending ? range.boundedTo(bound, isInclusive) : range.boundedFrom(bound, isInclusive));
  }

  @Override
  public KvMap<K, V> subMap(K from, K to) {
    return subMap(from, true, to, false);
  }

  @Override
  public KvMap<K, V> headMap(K to) {
    return headMap(to, false);
  }

  @Override
  public KvMap<K, V> tailMap(K from) {
    return tailMap(from, true);
  }

  /**
   * {@return the sub-map of the keys whose encoding begins with these bytes} Of tuples, those with
   * the same first components:
   *
   * <pre>{@code
   * visits.prefixMap(Codecs.string().encode("ada")) // of the codec in Codecs.tuple
   * }</pre>
   *
   * @param prefix encoded components, one after the other
   */
  public KvMap<K, V> prefixMap(byte[] prefix) {
    return with(range.startingWith(prefix));
  }

  @Override
  public NavigableSet<K> keySet() {
    return new KeySet<>(this);
  }

  @Override
  public NavigableSet<K> navigableKeySet() {
    return keySet();
  }

  @Override
  public NavigableSet<K> descendingKeySet() {
    return descendingMap().keySet();
  }

  @Override
  public Set<Map.Entry<K, V>> entrySet() {
    return new EntrySet<>(this);
  }

  @Override
  public Collection<V> values() {
    return new Values<>(this);
  }

  Chunks chunks(boolean keysOnly) {
    return new Chunks(store, range, isDescending, keysOnly);
  }

  /** Whether the key has a value that is equal to this one. */
  boolean contains(Object key, Object value) {
    byte[] encoded = encodeKey(key);
    byte[] found = range.contains(encoded) ? store.get(encoded) : null;
    return found != null && isEqual(found, encodeValue(value), value);
  }

  /** Returns the bytes of the present value, or null if the new one was set. */
  byte @Nullable [] setIfAbsent(byte[] key, byte[] value) {
    while (!store.compareAndSet(key, null, value)) {
      byte[] found = store.get(key);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /** The encoded key; throws if it is outside the bounds of this sub-map. */
  byte[] writableKey(K key) {
    byte[] encoded = encodeKey(key);
    if (!range.contains(encoded)) {
      throw new IllegalArgumentException("key out of range");
    }
    return encoded;
  }

  byte[] encodeValue(Object value) {
    @SuppressWarnings("unchecked") // a value of another type makes the codec throw
    V typed = (V) Objects.requireNonNull(value, "value");
    return valueCodec.encode(typed);
  }

  private byte[] encodeKey(Object key) {
    @SuppressWarnings("unchecked") // a key of another type makes the codec throw
    K typed = (K) Objects.requireNonNull(key, "key");
    return keyCodec.encode(typed);
  }

  private boolean isEqual(byte[] found, byte[] encoded, Object value) {
    return Arrays.equals(found, encoded) || value.equals(valueCodec.decode(found));
  }

  private boolean replaceEqual(byte[] key, Object expected, byte @Nullable [] value) {
    byte[] encoded = encodeValue(expected);
    while (range.contains(key)) {
      byte[] found = store.get(key);
      if (found == null || !isEqual(found, encoded, expected)) {
        return false;
      }
      if (value == null
          ? store.compareAndDelete(key, found)
          : store.compareAndSet(key, found, value)) {
        return true;
      }
    }
    return false;
  }

  /** Writes what the function makes of the present bytes, and returns the value they are. */
  private @Nullable V exchange(byte[] key, UnaryOperator<byte @Nullable []> function) {
    AtomicReference<@Nullable V> former = new AtomicReference<>();
    store.compute(
        key,
        found -> {
          // Before the write: bytes that cannot be decoded stay.
          former.set(decodeNullable(found));
          return function.apply(found);
        });
    return former.get();
  }

  /** Writes what the function makes of the present value, and returns that. */
  private @Nullable V update(byte[] key, UnaryOperator<@Nullable V> function) {
    AtomicReference<@Nullable V> made = new AtomicReference<>();
    store.compute(
        key,
        found -> {
          V next = function.apply(decodeNullable(found));
          made.set(next);
          return next == null ? null : valueCodec.encode(next);
        });
    return made.get();
  }

  private Map.@Nullable Entry<K, V> poll(boolean isLast) {
    while (true) {
      KvEntry found = edge(range, isLast, /* keysOnly= */ false);
      // Decoded first: what cannot be decoded stays.
      Map.Entry<K, V> entry = immutable(found);
      if (found == null || store.compareAndDelete(found.key(), found.value())) {
        return entry;
      }
    }
  }

  private @Nullable KvEntry edge(KeyRange part, boolean isLast, boolean keysOnly) {
    ScanOptions options = part.options(isLast).limit(1).prefetch(0);
    try (KvCursor cursor = store.cursor(keysOnly ? options.keysOnly() : options)) {
      return cursor.next() ? new KvEntry(cursor.key(), keysOnly ? EMPTY : cursor.value()) : null;
    }
  }

  /** The nearest entry at a smaller encoded key, or at a greater one. */
  private @Nullable KvEntry neighbour(
      K key, boolean isInclusive, boolean isSmaller, boolean keysOnly) {
    byte[] encoded = encodeKey(key);
    byte[] bound = isSmaller == isInclusive ? KeyRange.successor(encoded) : encoded;
    return edge(isSmaller ? range.to(bound) : range.from(bound), isSmaller, keysOnly);
  }

  private KvMap<K, V> with(KeyRange part) {
    return new KvMap<>(store, keyCodec, valueCodec, part, isDescending);
  }

  private @Nullable V decodeNullable(byte @Nullable [] value) {
    return value == null ? null : valueCodec.decode(value);
  }

  private @Nullable K decodeKey(@Nullable KvEntry entry) {
    return entry == null ? null : keyCodec.decode(entry.key());
  }

  private K presentKey(@Nullable KvEntry entry) {
    if (entry == null) {
      throw new NoSuchElementException();
    }
    return keyCodec.decode(entry.key());
  }

  private Map.@Nullable Entry<K, V> immutable(@Nullable KvEntry entry) {
    return entry == null
        ? null
        : new SimpleImmutableEntry<>(
            keyCodec.decode(entry.key()), valueCodec.decode(entry.value()));
  }
}
