package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.ConflictException;
import io.kvsep.error.StoreClosedException;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Neighbours of keys, streams, and values in buffers; the models compare more of them. */
final class NavigationTest {
  private static final byte[] VALUE = "value".getBytes(UTF_8);

  @TempDir Path directory;
  private KvStore store;

  @BeforeEach
  void open() {
    store = KvStore.open(directory);
  }

  @AfterEach
  void close() {
    store.close();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static KvEntry entry(String key) {
    return new KvEntry(bytes(key), VALUE);
  }

  private void put(String... keys) {
    for (String key : keys) {
      store.put(bytes(key), VALUE);
    }
  }

  @Test
  void anEmptyStoreHasNoNeighbours() {
    assertNull(store.first());
    assertNull(store.last());
    assertNull(store.floor(bytes("b")));
    assertNull(store.ceiling(bytes("b")));
    assertNull(store.lower(bytes("b")));
    assertNull(store.higher(bytes("b")));
  }

  @Test
  void neighboursAreFoundInMemtablesAndTables() {
    put("a", "c", "e");
    for (int round = 0; round < 2; round++) {
      assertEquals(entry("a"), store.first());
      assertEquals(entry("e"), store.last());
      assertEquals(entry("c"), store.floor(bytes("c")));
      assertEquals(entry("c"), store.floor(bytes("d")));
      assertEquals(entry("c"), store.ceiling(bytes("c")));
      assertEquals(entry("c"), store.ceiling(bytes("b")));
      assertEquals(entry("a"), store.lower(bytes("c")));
      assertEquals(entry("e"), store.higher(bytes("c")));
      assertNull(store.lower(bytes("a")));
      assertNull(store.higher(bytes("e")));
      store.compact();
    }
  }

  @Test
  void aKeyToNavigateFromMayBeEmptyOrOfTheGreatestLength() {
    byte[] longest = new byte[65_535];
    Arrays.fill(longest, (byte) 0xff);
    put("a");
    store.put(longest, VALUE);
    for (int round = 0; round < 2; round++) {
      assertNull(store.floor(new byte[0]));
      assertNull(store.lower(new byte[0]));
      assertEquals(entry("a"), store.ceiling(new byte[0]));
      assertEquals(entry("a"), store.higher(new byte[0]));
      assertEquals(new KvEntry(longest, VALUE), store.floor(longest));
      assertEquals(entry("a"), store.lower(longest));
      assertNull(store.higher(longest));
      store.flush();
    }
  }

  @Test
  void neighboursStayInTheirKeyspace() {
    KvView view = store.in(store.keyspace("middle"));
    store.in(store.keyspace("after")).put(bytes("a"), VALUE);
    put("z");
    assertNull(view.first());
    assertNull(view.last());
    view.put(bytes("m"), VALUE);
    assertEquals(entry("m"), view.first());
    assertNull(view.higher(bytes("m")));
    assertNull(view.lower(bytes("m")));
  }

  @Test
  void aNeighbourThatATransactionReadIsWatched() {
    put("a", "c", "e");
    try (Transaction transaction = store.begin()) {
      assertEquals(entry("c"), transaction.higher(bytes("a")));
      transaction.put(bytes("x"), VALUE);
      put("b");
      assertThrows(ConflictException.class, transaction::commit);
    }
    try (Transaction transaction = store.begin()) {
      assertEquals(entry("b"), transaction.higher(bytes("a")));
      transaction.put(bytes("x"), VALUE);
      put("d");
      transaction.commit();
    }
  }

  @Test
  void entriesAreEqualByContent() {
    KvEntry entry = entry("a");
    assertEquals(entry("a"), entry);
    assertEquals(entry("a").hashCode(), entry.hashCode());
    assertNotEquals(entry("b"), entry);
    assertNotEquals(new KvEntry(bytes("a"), bytes("other")), entry);
    assertEquals("KvEntry[key=61, value of 5 bytes]", entry.toString());
  }

  @Test
  void aStreamThatReachesItsEndClosesItsCursor() {
    put("a", "b", "c");
    Stream<KvEntry> stream = store.stream(ScanOptions.all().reverse());
    assertEquals(1, store.stats().openCursors());
    assertEquals(List.of(entry("c"), entry("b"), entry("a")), stream.toList());
    assertEquals(0, store.stats().openCursors());
  }

  @Test
  void aStreamLeftHalfWayIsClosedByItsOwner() {
    put("a", "b", "c");
    try (Stream<KvEntry> stream = store.stream(ScanOptions.prefix(bytes("b")))) {
      Iterator<KvEntry> entries = stream.iterator();
      assertEquals(entry("b"), entries.next());
      assertEquals(1, store.stats().openCursors());
    }
    assertEquals(0, store.stats().openCursors());
    try (Stream<KvEntry> stream = store.stream(ScanOptions.all())) {
      assertEquals(entry("a"), stream.findFirst().orElseThrow());
    }
    assertEquals(0, store.stats().openCursors());
  }

  @Test
  void anIteratorAtItsEndStaysThere() {
    put("a");
    Iterator<KvEntry> entries = store.stream(ScanOptions.all()).iterator();
    assertEquals(entry("a"), entries.next());
    for (int i = 0; i < 3; i++) {
      assertEquals(false, entries.hasNext());
    }
  }

  @Test
  void aStreamShowsTheMomentOfTheCallAndRunsInParallelToo() {
    put("a", "b");
    try (Stream<KvEntry> stream = store.stream(ScanOptions.all())) {
      put("c");
      assertEquals(2, stream.parallel().map(KvEntry::key).distinct().count());
    }
  }

  @Test
  void aStreamOfAClosedStoreSaysSo() {
    put("a");
    Stream<KvEntry> stream = store.stream(ScanOptions.all());
    store.close();
    assertThrows(StoreClosedException.class, stream::toList);
  }

  @Test
  void keysOnlyStreamsHaveEmptyValues() {
    put("a", "b");
    ScanOptions keys = ScanOptions.all().keysOnly();
    List<KvEntry> expected =
        List.of(new KvEntry(bytes("a"), new byte[0]), new KvEntry(bytes("b"), new byte[0]));
    assertEquals(expected, store.stream(keys).toList());
    List<KvEntry> found = new ArrayList<>();
    store.forEach(keys, (key, value) -> found.add(new KvEntry(key, value)));
    assertEquals(expected, found);
  }

  @Test
  void anErrorOfAnActionEndsTheCall() {
    put("a", "b");
    List<String> seen = new ArrayList<>();
    assertThrows(
        UnsupportedOperationException.class,
        () ->
            store.forEach(
                ScanOptions.all(),
                (key, value) -> {
                  seen.add(new String(key, UTF_8));
                  throw new UnsupportedOperationException();
                }));
    assertEquals(List.of("a"), seen);
    assertEquals(0, store.stats().openCursors());
  }

  @Test
  void aValueGoesIntoABufferOnlyIfItFits() {
    for (int length : new int[] {0, 7, 300, 5_000, 200_000}) {
      byte[] value = new byte[length];
      for (int i = 0; i < length; i++) {
        value[i] = (byte) (i * i + i / 7);
      }
      byte[] key = bytes("key" + length);
      store.put(key, value);
      for (ByteBuffer target :
          List.of(ByteBuffer.allocate(length + 2), ByteBuffer.allocateDirect(length + 2))) {
        target.position(1);
        assertEquals(length, store.get(key, target));
        assertEquals(length + 1, target.position());
        byte[] got = new byte[length];
        target.get(1, got);
        assertArrayEquals(value, got);
        assertEquals(length, store.get(key, target.limit(length + 1).position(1)));
        assertEquals(length + 1, target.position());
        if (length > 0) {
          assertEquals(length, store.get(key, target.position(2)));
          assertEquals(2, target.position());
        }
        assertThrows(
            ReadOnlyBufferException.class, () -> store.get(key, target.asReadOnlyBuffer()));
      }
    }
  }
}
