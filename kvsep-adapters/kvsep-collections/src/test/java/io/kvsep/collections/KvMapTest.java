package io.kvsep.collections;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.error.LimitExceededException;
import io.kvsep.testing.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class KvMapTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private record Visit(String user, Long number) {}

  private final ManualClock clock = new ManualClock(1_000_000);
  private final KvStore store = KvStore.inMemory(KvOptions.builder().clock(clock).build());
  private final KvMap<Integer, String> map = KvMap.open(store, Codecs.int32(), Codecs.string());

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void mapIsTheContentOfItsKeyspace() {
    map.put(1, "one");

    assertEquals("one", KvMap.open(store, Codecs.int32(), Codecs.string()).get(1));
    assertArrayEquals(Codecs.string().encode("one"), store.get(Codecs.int32().encode(1)));
    assertTrue(
        KvMap.open(store.in(store.keyspace("k")), Codecs.int32(), Codecs.string()).isEmpty());
  }

  @Test
  void emptyStringsAreKeysAndValues() {
    KvMap<String, String> strings = KvMap.open(store, Codecs.string(), Codecs.plainString());
    strings.put("", "");
    strings.put("a", "b");

    assertEquals("", strings.get(""));
    assertEquals("", strings.firstKey());
    assertEquals(Map.of("", "", "a", "b"), strings);
  }

  @Test
  void keysOutsideTheLimitsThrow() {
    KvMap<byte[], String> raw = KvMap.open(store, Codecs.plainBytes(), Codecs.string());

    assertThrows(LimitExceededException.class, () -> raw.put(new byte[0], "v"));
    assertThrows(LimitExceededException.class, () -> raw.put(new byte[65_536], "v"));
    assertThrows(LimitExceededException.class, () -> raw.get(new byte[0]));
  }

  @Test
  void longestKeyIsFoundRemovedAndCleared() {
    KvMap<byte[], String> raw = KvMap.open(store, Codecs.plainBytes(), Codecs.string());
    byte[] longest = new byte[65_535];
    Arrays.fill(longest, (byte) 0xff);
    raw.put(longest, "last");
    raw.put(new byte[] {1}, "first");

    assertEquals("last", raw.get(longest));
    assertArrayEquals(longest, raw.floorKey(longest));
    assertNull(raw.higherKey(longest));
    assertEquals(1, raw.tailMap(longest, true).size());
    assertEquals(0, raw.tailMap(longest, false).size());
    raw.clear();
    assertTrue(raw.isEmpty());
    assertEquals(0, raw.size());
  }

  @Test
  void clearOfSubMapKeepsTheRest() {
    IntStream.range(0, 10).forEach(i -> map.put(i, "v" + i));
    map.subMap(3, false, 6, true).clear();

    assertEquals(List.of(0, 1, 2, 3, 7, 8, 9), List.copyOf(map.keySet()));
  }

  @Test
  void comparatorIsThatOfTheKeys() {
    assertNull(map.comparator());
    assertEquals(Collections.reverseOrder(), map.descendingMap().comparator());
    assertNull(map.descendingMap().descendingMap().comparator());
    KvMap<Integer, String> reversed =
        KvMap.open(store, Codecs.reversed(Codecs.int32()), Codecs.string());
    assertTrue(requireNonNull(reversed.comparator()).compare(1, 2) > 0);
    assertTrue(requireNonNull(reversed.descendingKeySet().comparator()).compare(1, 2) < 0);
  }

  @Test
  void keysOfAnotherTypeThrowClassCastException() {
    Object other = "1";
    assertThrows(ClassCastException.class, () -> map.get(other));
    assertThrows(ClassCastException.class, () -> map.remove(other));
  }

  @Test
  @SuppressWarnings("NullAway") // on purpose
  void nullsThrow() {
    assertThrows(NullPointerException.class, () -> map.put(null, "v"));
    assertThrows(NullPointerException.class, () -> map.put(1, null));
    assertThrows(NullPointerException.class, () -> map.merge(1, null, String::concat));
    assertThrows(NullPointerException.class, () -> map.compute(1, null));
    assertThrows(NullPointerException.class, () -> map.containsValue(null));
    assertThrows(NullPointerException.class, () -> map.subMap(null, 2));
  }

  @Test
  void entriesExpire() {
    map.put(1, "kept");
    map.put(2, "short", MINUTE);
    map.put(3, "kept", MINUTE);
    map.put(3, "kept");
    assertTrue(map.expire(1, MINUTE.multipliedBy(2)));
    assertFalse(map.expire(9, MINUTE));
    assertFalse(map.headMap(3).expire(3, MINUTE));
    clock.advance(MINUTE.toMillis() + 1);

    assertEquals(List.of(1, 3), List.copyOf(map.keySet()));
    assertNull(map.putIfAbsent(2, "again"));
    clock.advance(MINUTE.toMillis());
    assertEquals(List.of(2, 3), List.copyOf(map.keySet()));
    assertThrows(IllegalArgumentException.class, () -> map.put(1, "v", Duration.ZERO));
  }

  @Test
  void elementsExpire() {
    KvSet<String> set = KvSet.open(store.in(store.keyspace("set")), Codecs.string());
    set.add("short", MINUTE);
    assertFalse(set.add("short"));
    set.add("long");
    assertTrue(set.expire("long", MINUTE.multipliedBy(2)));
    assertFalse(set.expire("absent", MINUTE));
    clock.advance(MINUTE.toMillis() + 1);

    assertEquals(List.of("long"), List.copyOf(set));
    assertTrue(set.add("short"));
  }

  @Test
  void iteratorsGoOverManyChunksInBothDirections() {
    ConcurrentSkipListMap<Integer, String> model = new ConcurrentSkipListMap<>();
    for (int i = 0; i < 5_000; i++) {
      model.put(i * 7, "v" + i);
    }
    map.putAll(model);

    assertEquals(List.copyOf(model.entrySet()), List.copyOf(map.entrySet()));
    assertEquals(List.copyOf(model.descendingKeySet()), List.copyOf(map.descendingKeySet()));
    assertEquals(model.values().stream().toList(), map.values().stream().toList());
    assertEquals(5_000, map.mappingCount());
    assertTrue(map.keySet().removeIf(key -> key % 2 == 0));
    assertEquals(2_500, map.size());
  }

  @Test
  void iteratorsReadLongValuesOneByOne() {
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      expected.add(Integer.toString(i).repeat(300_000));
      map.put(i, expected.get(i));
    }

    assertEquals(expected, List.copyOf(map.values()));
  }

  @Test
  void iteratorsHoldNoCursor() {
    IntStream.range(0, 100).forEach(i -> map.put(i, "v"));
    List<Iterator<?>> iterators = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      iterators.add(map.entrySet().iterator());
      iterators.add(map.keySet().descendingIterator());
      iterators.forEach(Iterator::next);
    }

    assertEquals(0, store.stats().openCursors());
    assertEquals("v", map.values().stream().findFirst().orElseThrow());
    assertEquals(0, store.stats().openCursors());
  }

  @Test
  void iteratorsSeeLaterWritesBehindTheirChunk() {
    IntStream.range(0, 100).forEach(i -> map.put(i, "v"));
    Iterator<Integer> keys = map.keySet().iterator();
    keys.next();
    map.put(1_000, "late");
    map.remove(99);
    List<Integer> seen = new ArrayList<>();
    keys.forEachRemaining(seen::add);

    assertTrue(seen.contains(1_000));
    assertFalse(seen.contains(99));
    assertThrows(NoSuchElementException.class, keys::next);
  }

  @Test
  void iteratorKeepsEntryThatChangedMeanwhile() {
    map.put(1, "a");
    map.put(2, "a");
    Iterator<Map.Entry<Integer, String>> entries = map.entrySet().iterator();
    entries.next();
    map.put(1, "b");
    entries.remove();
    entries.next().setValue("c");
    assertEquals("c", map.get(2));
    entries.remove();

    assertEquals(Map.of(1, "b"), map);
    assertThrows(IllegalStateException.class, entries::remove);
  }

  @Test
  void removeIfOfValuesRemovesOnlyWhatItTested() {
    map.put(1, "old");
    map.put(2, "old");
    map.values()
        .removeIf(
            value -> {
              map.put(2, "new");
              return value.equals("old");
            });

    assertEquals(Map.of(2, "new"), map);
  }

  @Test
  void arraysAsValuesAreComparedByContent() {
    KvMap<Integer, byte[]> arrays = KvMap.open(store, Codecs.int32(), Codecs.plainBytes());
    arrays.put(1, new byte[] {1});

    assertTrue(arrays.containsValue(new byte[] {1}));
    assertTrue(arrays.replace(1, new byte[] {1}, new byte[] {2}));
    assertTrue(arrays.entrySet().contains(Map.entry(1, new byte[] {2})));
    assertFalse(arrays.remove(1, new byte[] {1}));
    assertTrue(arrays.remove(1, new byte[] {2}));
    arrays.merge(1, new byte[] {3}, (a, b) -> b);
    assertArrayEquals(new byte[] {4}, arrays.computeIfPresent(1, (k, v) -> new byte[] {4}));
  }

  @Test
  void exceptionOfFunctionLeavesTheEntry() {
    map.put(1, "a");
    IllegalStateException thrown = new IllegalStateException("no");

    assertEquals(
        thrown,
        assertThrows(
            IllegalStateException.class,
            () ->
                map.compute(
                    1,
                    (key, value) -> {
                      throw thrown;
                    })));
    assertEquals("a", map.get(1));
  }

  @Test
  void foreignBytesThrowAndStay() {
    store.put(new byte[] {1}, new byte[0]);
    store.put(Codecs.int32().encode(5), new byte[] {1});

    assertThrows(DecodeException.class, () -> map.get(5));
    assertThrows(DecodeException.class, map::firstKey);
    assertThrows(DecodeException.class, map::pollLastEntry);
    assertThrows(DecodeException.class, () -> map.put(5, "v"));
    assertThrows(DecodeException.class, () -> map.remove(5));
    assertThrows(DecodeException.class, () -> map.merge(5, "v", String::concat));
    assertArrayEquals(new byte[] {1}, store.get(Codecs.int32().encode(5)));
    assertEquals(2, map.size());
    map.set(5, "v");
    assertEquals("v", map.get(5));
  }

  @Test
  void iteratorGoesOnBehindForeignBytes() {
    map.put(1, "a");
    store.put(Codecs.int32().encode(2), new byte[] {1});
    map.put(3, "c");
    Iterator<Map.Entry<Integer, String>> entries = map.entrySet().iterator();
    entries.next();

    assertThrows(DecodeException.class, entries::next);
    assertThrows(IllegalStateException.class, entries::remove);
    assertEquals(Map.entry(3, "c"), entries.next());
    assertFalse(entries.hasNext());
    assertEquals("a", map.get(1));
  }

  @Test
  void prefixMapHasTheTuplesWithTheSameFirstComponent() {
    Codec<Visit> codec =
        Codecs.tuple(Codecs.string(), Visit::user, Codecs.int64(), Visit::number, Visit::new);
    KvMap<Visit, String> visits = KvMap.open(store, codec, Codecs.string());
    for (String user : List.of("ad", "ada", "adam", "")) {
      visits.put(new Visit(user, -1L), "first");
      visits.put(new Visit(user, 1L), "second");
    }
    KvMap<Visit, String> ofAda = visits.prefixMap(Codecs.string().encode("ada"));

    assertEquals(List.of("first", "second"), List.copyOf(ofAda.values()));
    assertEquals(new Visit("ada", 1L), ofAda.descendingMap().firstKey());
    assertThrows(IllegalArgumentException.class, () -> ofAda.put(new Visit("adam", 1L), "v"));
    assertEquals(8, visits.prefixMap(new byte[0]).size());
    assertEquals(0, visits.prefixMap(new byte[] {-1, -1}).size());
    assertEquals(0, visits.headMap(new Visit("ad", 0L)).prefixMap(new byte[] {'b'}).size());
  }

  @Test
  void boundsAreThoseOfSkipListMaps() {
    IntStream.range(0, 10).forEach(i -> map.put(i, "v"));
    KvMap<Integer, String> open = map.subMap(3, false, 6, false);

    assertEquals(0, open.headMap(3, false).size());
    assertEquals(0, open.tailMap(6, false).size());
    assertThrows(IllegalArgumentException.class, () -> open.tailMap(3, true));
    assertThrows(IllegalArgumentException.class, () -> open.headMap(6, true));
    assertThrows(IllegalArgumentException.class, () -> open.tailMap(7, true));
    assertThrows(IllegalArgumentException.class, () -> open.put(3, "v"));
    assertThrows(IllegalArgumentException.class, () -> map.subMap(4, 3));
    assertEquals(0, map.subMap(3, false, 3, false).size());
    assertNull(open.lowerKey(3));
    assertEquals(5, open.lowerKey(9));
  }

  @Test
  void subSetsOfASetCanAdd() {
    KvSet<Integer> set = KvSet.open(store.in(store.keyspace("set")), Codecs.int32());
    NavigableSet<Integer> part = set.subSet(1, true, 5, false).descendingSet();
    assertTrue(part.add(3));
    assertFalse(part.add(3));

    assertTrue(set.contains(3));
    assertThrows(IllegalArgumentException.class, () -> part.add(5));
    assertThrows(UnsupportedOperationException.class, () -> map.keySet().add(1));
  }
}
