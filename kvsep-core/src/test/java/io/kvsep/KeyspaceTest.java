package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StoreClosedException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Namespaces of one store. */
final class KeyspaceTest {
  private static final byte[] KEY = bytes("key");

  @TempDir Path directory;
  @TempDir Path otherDirectory;
  private KvStore store;

  @BeforeEach
  void open() {
    store = KvStore.open(directory, options());
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void aKeyStandsInEachKeyspaceForItself() {
    KvView users = store.in(store.keyspace("users"));
    KvView orders = store.in(store.keyspace("orders"));
    store.put(KEY, bytes("store"));
    users.put(KEY, bytes("user"));
    orders.put(KEY, bytes("order"), Duration.ofDays(1));
    orders.put(bytes("other"), bytes("order 2"));

    assertValue("store", store.get(KEY));
    assertValue("user", users.get(KEY));
    assertValue("order", orders.get(KEY));
    assertFalse(users.contains(bytes("other")));
    assertEquals(List.of("key"), keys(store, ScanOptions.all()));
    assertEquals(List.of("key"), keys(users, ScanOptions.all()));
    assertEquals(List.of("other", "key"), keys(orders, ScanOptions.all().reverse()));
    assertEquals(List.of("other"), keys(orders, ScanOptions.prefix(bytes("o"))));

    users.delete(KEY);
    orders.deleteRange(bytes("a"), bytes("n"));
    assertValue("store", store.get(KEY));
    assertNull(users.get(KEY));
    assertEquals(List.of("other"), keys(orders, ScanOptions.all()));
  }

  @Test
  void namesAndContentsSurvive() {
    Keyspace zebra = store.keyspace("zebra");
    store.in(zebra).put(KEY, bytes("striped"));
    store.keyspace("äffchen");
    store.keyspace("antelope");
    assertEquals(List.of("antelope", "zebra", "äffchen"), store.keyspaces());
    assertEquals(zebra, store.keyspace("zebra"));
    assertEquals("zebra", zebra.name());

    reopen(options());
    assertEquals(List.of("antelope", "zebra", "äffchen"), store.keyspaces());
    assertValue("striped", store.in(store.keyspace("zebra")).get(KEY));
    assertNull(store.get(KEY));
  }

  @Test
  void moreKeyspacesThanOneByteCounts() {
    for (int i = 0; i < 600; i++) {
      store.in(store.keyspace("space-" + i)).put(KEY, bytes("value-" + i));
    }
    reopen(options());
    for (int i = 0; i < 600; i++) {
      KvView view = store.in(store.keyspace("space-" + i));
      assertValue("value-" + i, view.get(KEY));
      assertEquals(List.of("key"), keys(view, ScanOptions.all()));
    }
    assertEquals(List.of(), keys(store, ScanOptions.all()));
  }

  @Test
  void droppingOneAtTheChangeOfPrefixLengthsLeavesItsNeighboursAlone() {
    // Ids are given in order: the prefix of the 240th and of those after it is longer.
    for (int i = 1; i <= 242; i++) {
      store.in(store.keyspace("space-" + i)).put(KEY, bytes("value-" + i));
    }
    store.dropKeyspace(store.keyspace("space-239"));
    store.dropKeyspace(store.keyspace("space-241"));
    reopen(options());
    for (int i : new int[] {1, 238, 240, 242}) {
      assertValue("value-" + i, store.in(store.keyspace("space-" + i)).get(KEY));
    }
    assertEquals(240, store.keyspaces().size());
  }

  @Test
  void aKeyspaceOfAnEarlierOpeningIsRefused() {
    Keyspace earlier = store.keyspace("users");
    KvView view = store.in(earlier);
    reopen(options());
    assertThrows(IllegalArgumentException.class, () -> store.in(earlier));
    assertThrows(IllegalArgumentException.class, () -> store.dropKeyspace(earlier));
    WriteBatch batch = new WriteBatch().in(earlier).put(KEY, KEY);
    assertThrows(IllegalArgumentException.class, () -> store.write(batch));
    assertThrows(StoreClosedException.class, () -> view.get(KEY));
    assertNotEquals(earlier, store.keyspace("users"));
  }

  @Test
  void aCursorFromBeforeTheDropGoesOn() {
    Keyspace users = store.keyspace("users");
    store.in(users).put(KEY, bytes("user"));
    try (KvCursor cursor = store.in(users).cursor();
        Snapshot before = store.snapshot()) {
      store.dropKeyspace(users);
      store.compact();
      assertTrue(cursor.next());
      assertValue("user", cursor.value());
      assertValue("user", before.in(users).get(KEY));
    }
  }

  @Test
  void aSnapshotRefusesAKeyspaceThatWasDroppedBefore() {
    Keyspace users = store.keyspace("users");
    Keyspace empty = store.keyspace("empty");
    store.in(users).put(KEY, bytes("user"));
    try (Snapshot before = store.snapshot()) {
      store.dropKeyspace(users);
      store.dropKeyspace(empty);
      try (Snapshot after = store.snapshot()) {
        assertThrows(IllegalStateException.class, () -> after.in(users));
        assertThrows(IllegalStateException.class, () -> after.in(empty));
        Keyspace again = store.keyspace("users");
        assertNull(after.in(again).get(KEY), "what was made later is empty");
        assertThrows(IllegalStateException.class, () -> after.in(users));
      }
      store.dropKeyspace(users);
      assertValue("user", before.in(users).get(KEY));
      assertNull(before.in(empty).get(KEY));
    }
  }

  @Test
  void aBatchGoesToSeveralKeyspaces() {
    Keyspace users = store.keyspace("users");
    Keyspace orders = store.keyspace("orders");
    store.in(users).put(bytes("gone"), bytes("soon"));
    WriteBatch batch =
        new WriteBatch()
            .put(KEY, bytes("store"))
            .in(users)
            .put(KEY, bytes("user"))
            .deleteRange(bytes("g"), bytes("h"))
            .in(orders)
            .put(KEY, bytes("order"))
            .inDefault()
            .put(bytes("key2"), bytes("store 2"));
    assertEquals(5, batch.count());
    store.write(batch);
    assertEquals(List.of("key", "key2"), keys(store, ScanOptions.all()));
    assertEquals(List.of("key"), keys(store.in(users), ScanOptions.all()));
    assertValue("order", store.in(orders).get(KEY));

    batch.clear();
    store.write(batch.delete(KEY));
    assertNull(store.get(KEY));
    assertValue("user", store.in(users).get(KEY));
  }

  @Test
  void aDroppedKeyspaceIsGoneAndItsNameIsFree() {
    Keyspace users = store.keyspace("users");
    KvView view = store.in(users);
    view.put(KEY, bytes("user"));
    store.put(KEY, bytes("store"));
    try (Snapshot before = store.snapshot()) {
      store.dropKeyspace(users);
      store.dropKeyspace(users);
      assertEquals(List.of(), store.keyspaces());
      assertThrows(IllegalStateException.class, () -> store.in(users));
      assertThrows(IllegalStateException.class, () -> view.get(KEY));
      assertThrows(IllegalStateException.class, view::cursor);
      assertThrows(IllegalStateException.class, () -> view.put(KEY, KEY));
      assertThrows(IllegalStateException.class, () -> view.deleteRange(KEY, bytes("z")));
      assertThrows(IllegalStateException.class, () -> view.deleteRange(bytes("z"), KEY));
      WriteBatch batch = new WriteBatch().delete(KEY).in(users).put(KEY, KEY);
      assertThrows(IllegalStateException.class, () -> store.write(batch));
      assertValue("store", store.get(KEY));
      store.flush();
      store.compact();
      assertValue("user", before.in(users).get(KEY));
      assertEquals(List.of("key"), keys(before.in(users), ScanOptions.all()));
    }
    Keyspace again = store.keyspace("users");
    assertNotEquals(users, again);
    assertEquals(List.of(), keys(store.in(again), ScanOptions.all()));
    store.dropKeyspace(again);

    reopen(options());
    assertEquals(List.of(), store.keyspaces());
    assertEquals(List.of(), keys(store.in(store.keyspace("users")), ScanOptions.all()));
    assertValue("store", store.get(KEY));
  }

  @Test
  void aBatchThatOnlyNamesADroppedKeyspaceIsRefused() {
    Keyspace users = store.keyspace("users");
    store.dropKeyspace(users);
    WriteBatch nothing = new WriteBatch().in(users);
    WriteBatch emptyRange = new WriteBatch().put(KEY, KEY).in(users).deleteRange(KEY, KEY);
    for (WriteBatch batch : List.of(nothing, emptyRange)) {
      assertThrows(IllegalStateException.class, () -> store.write(batch));
      assertThrows(IllegalStateException.class, () -> store.write(batch, Durability.sync()));
    }
    assertNull(store.get(KEY));
  }

  @Test
  void theSpaceOfADroppedKeyspaceComesBack() {
    Keyspace large = store.keyspace("large");
    store.put(KEY, bytes("stays"));
    for (int i = 0; i < 3000; i++) {
      store.in(large).put(bytes("key-" + i), new byte[i % 2 == 0 ? 100 : 2000 + i]);
    }
    store.flush();
    store.compact();
    long before = store.stats().tableBytes();
    store.dropKeyspace(large);
    store.compact();
    long after = store.stats().tableBytes();
    assertTrue(after < before / 10, () -> after + " of " + before + " bytes of tables are left");
    assertEquals(0, store.stats().logLiveBytes());
    assertValue("stays", store.get(KEY));
  }

  @Test
  void aSnapshotReadsAllKeyspacesAtOneMoment() {
    Keyspace users = store.keyspace("users");
    store.write(new WriteBatch().put(KEY, bytes("1")).in(users).put(KEY, bytes("1")));
    try (Snapshot snapshot = store.snapshot()) {
      store.write(new WriteBatch().put(KEY, bytes("2")).in(users).put(KEY, bytes("2")));
      assertValue("1", snapshot.get(KEY));
      assertValue("1", snapshot.in(users).get(KEY));
      assertValue("2", store.in(users).get(KEY));
    }
  }

  @Test
  void aKeyspaceOfAnotherStoreIsRefused() {
    try (KvStore other = KvStore.open(otherDirectory, options());
        Snapshot snapshot = store.snapshot()) {
      Keyspace foreign = other.keyspace("users");
      assertThrows(IllegalArgumentException.class, () -> store.in(foreign));
      assertThrows(IllegalArgumentException.class, () -> snapshot.in(foreign));
      assertThrows(IllegalArgumentException.class, () -> store.dropKeyspace(foreign));
      WriteBatch batch = new WriteBatch().put(KEY, KEY).in(foreign).put(KEY, KEY);
      assertThrows(IllegalArgumentException.class, () -> store.write(batch));
      assertNull(store.get(KEY));
      assertEquals(List.of("users"), other.keyspaces());
    }
  }

  @Test
  void aNameHasOneTo255Bytes() {
    assertEquals("n".repeat(255), store.keyspace("n".repeat(255)).name());
    for (String wrong : List.of("", "n".repeat(256), "ä".repeat(128), "\ud800")) {
      assertThrows(IllegalArgumentException.class, () -> store.keyspace(wrong));
    }
    assertEquals(1, store.keyspaces().size());
  }

  @Test
  void aNameThatIsNoTextIsCalledThat() {
    for (String wrong : List.of("\ud800", "a\udc00", "n".repeat(300) + "\ud800")) {
      IllegalArgumentException refused =
          assertThrows(IllegalArgumentException.class, () -> store.keyspace(wrong));
      assertEquals(
          "the name of a keyspace is text, this one has half of a surrogate pair",
          refused.getMessage());
    }
  }

  @Test
  void openForReadingOnlyThereAreTheKeyspacesThereWere() {
    store.in(store.keyspace("users")).put(KEY, bytes("user"));
    reopen(KvOptions.builder().readOnly(true).build());
    Keyspace users = store.keyspace("users");
    assertValue("user", store.in(users).get(KEY));
    assertThrows(ReadOnlyStoreException.class, () -> store.keyspace("more"));
    assertThrows(ReadOnlyStoreException.class, () -> store.dropKeyspace(users));
    assertThrows(ReadOnlyStoreException.class, () -> store.in(users).delete(KEY));
    assertEquals(List.of("users"), store.keyspaces());
  }

  private void reopen(KvOptions options) {
    store.close();
    store = KvStore.open(directory, options);
  }

  private static KvOptions options() {
    return KvOptions.builder()
        .memoryBudgetBytes(16 << 20)
        .segmentBytes(1 << 20)
        .durability(Durability.none())
        .build();
  }

  private static List<String> keys(KvReader reader, ScanOptions options) {
    List<String> keys = new ArrayList<>();
    try (KvCursor cursor = reader.cursor(options)) {
      while (cursor.next()) {
        assertTrue(Arrays.equals(cursor.value(), reader.get(cursor.key())));
        keys.add(new String(cursor.key(), UTF_8));
      }
    }
    return keys;
  }

  private static void assertValue(String expected, byte @Nullable [] value) {
    assertArrayEquals(bytes(expected), value);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
