package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.ConflictException;
import io.kvsep.testing.ManualClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is told of an entry without its value, and expiry at a given moment. */
final class EntryInfoTest {
  private static final long NOW = 1_000_000;
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] OTHER = "other".getBytes(UTF_8);

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(NOW);
  private KvStore store;

  @BeforeEach
  void open() {
    store = KvStore.open(directory, KvOptions.builder().clock(clock).build());
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void lengthIsThatOfTheValueWhereverItLies() {
    store.put(KEY, new byte[5]);
    store.put(OTHER, new byte[100_000]);

    for (int round = 0; round < 2; round++) {
      assertEquals(5, info(store, KEY).valueLength());
      assertEquals(100_000, info(store, OTHER).valueLength());
      assertNull(store.info("none".getBytes(UTF_8)));
      store.compact();
    }
  }

  @Test
  void versionChangesWithEveryWriteOfTheKeyAndWithNothingElse() {
    store.put(KEY, new byte[1000]);
    long first = info(store, KEY).version();
    store.put(OTHER, new byte[1000]);
    store.put(OTHER, new byte[1000]);
    store.compact();
    store.reclaim();
    assertEquals(first, info(store, KEY).version());

    store.put(KEY, new byte[1000]);

    assertNotEquals(first, info(store, KEY).version());
    assertNotEquals(info(store, KEY).version(), info(store, OTHER).version());
  }

  /** Formats have no moments before 1970. */
  @Test
  void whatExpiresBefore1970ByTheClockIsReadAgain() {
    store.close();
    clock.advance(-3 * NOW);
    open();
    store.put(KEY, new byte[10], Duration.ofMillis(NOW));
    store.put(OTHER, new byte[10], Duration.ofMillis(10 * NOW));
    store.flush();

    store.close();
    open();

    assertEquals(OptionalLong.of(8 * NOW), info(store, OTHER).expiresAtMillis());
    assertEquals(OptionalLong.of(1), info(store, KEY).expiresAtMillis());
    clock.advance(2 * NOW + 1);
    assertNull(store.get(KEY));
    store.compact();
    assertArrayEquals(new byte[10], store.get(OTHER));
  }

  @Test
  void versionOutlivesReopening() {
    store.put(KEY, new byte[10]);
    long first = info(store, KEY).version();

    store.close();
    open();

    assertEquals(first, info(store, KEY).version());
  }

  @Test
  void expiryIsTheMomentThatWasGiven() {
    store.putUntil(KEY, OTHER, NOW + 7);
    store.in(store.keyspace("space")).putUntil(KEY, OTHER, NOW + 8);
    store.write(new WriteBatch().putUntil(OTHER, KEY, NOW + 9).put(KEY, KEY, Duration.ofMillis(5)));

    assertEquals(OptionalLong.of(NOW + 5), info(store, KEY).expiresAtMillis());
    assertEquals(
        OptionalLong.of(NOW + 8), info(store.in(store.keyspace("space")), KEY).expiresAtMillis());
    assertEquals(OptionalLong.of(NOW + 9), info(store, OTHER).expiresAtMillis());
    clock.advance(8);
    assertArrayEquals(KEY, store.get(OTHER));
    clock.advance(1);
    assertNull(store.get(OTHER));
    assertNull(store.info(OTHER));
  }

  /** As it will be after the commit, and hiding what the store has. */
  @Test
  void aPassedMomentLeavesTheKeyAbsentInATransaction() {
    store.increment(KEY, 5);
    store.put(OTHER, OTHER);
    try (Transaction transaction = store.begin()) {
      transaction.putUntil(KEY, OTHER, 1);
      transaction.putUntil(OTHER, KEY, NOW + 50);
      assertAbsent(transaction, KEY);
      assertArrayEquals(KEY, transaction.get(OTHER));
      clock.advance(60);
      assertAbsent(transaction, OTHER);
      for (boolean reverse : new boolean[] {false, true}) {
        ScanOptions all = reverse ? ScanOptions.all().reverse() : ScanOptions.all();
        KvCursor cursor = transaction.cursor(all);
        assertFalse(cursor.next());
        assertFalse(cursor.seek(KEY));
      }
      assertEquals(3, transaction.increment(KEY, 3));
      transaction.commit();
    }
    assertEquals(4, store.increment(KEY, 1));
    assertNull(store.get(OTHER));
  }

  private static void assertAbsent(Transaction transaction, byte[] key) {
    assertNull(transaction.get(key));
    assertFalse(transaction.contains(key));
    assertNull(transaction.info(key));
    assertNull(transaction.getAll(List.of(key)).get(0));
    assertNull(transaction.<byte[]>read(key, value -> new byte[1]));
  }

  @Test
  void aMomentDoesNotMoveWhileATransactionIsOpen() {
    try (Transaction transaction = store.begin()) {
      transaction.putUntil(KEY, OTHER, NOW + 50);
      assertEquals(OptionalLong.of(NOW + 50), info(transaction, KEY).expiresAtMillis());
      assertEquals(0, info(transaction, KEY).version());
      clock.advance(10);
      transaction.commit();
    }
    assertEquals(OptionalLong.of(NOW + 50), info(store, KEY).expiresAtMillis());
  }

  @Test
  void aPassedMomentLeavesTheKeyAbsent() {
    store.put(KEY, OTHER);
    store.putUntil(KEY, OTHER, 1);
    assertNull(store.get(KEY));

    store.putUntil(KEY, OTHER, Long.MAX_VALUE);
    assertArrayEquals(OTHER, store.get(KEY));
    assertThrows(IllegalArgumentException.class, () -> store.putUntil(KEY, OTHER, 0));
  }

  @Test
  void askingInATransactionIsARead() {
    try (Transaction transaction = store.begin()) {
      assertNull(transaction.info(KEY));
      store.put(KEY, OTHER);
      transaction.put(OTHER, KEY);
      assertThrows(ConflictException.class, transaction::commit);
    }
  }

  private static EntryInfo info(KvReader reader, byte[] key) {
    EntryInfo info = reader.info(key);
    assertNotNull(info);
    return Objects.requireNonNull(info);
  }
}
