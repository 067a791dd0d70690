package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.ManualClock;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An entry and its value out of one lookup. */
final class ReadWithInfoTest {
  private static final long NOW = 1_000_000;
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] OTHER = "other".getBytes(UTF_8);

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(NOW);
  private KvStore store;

  /** What a reader was given. */
  private record Entry(EntryInfo info, byte @Nullable [] value) {
    static Entry of(EntryInfo info, @Nullable ByteBuffer view) {
      if (view == null) {
        return new Entry(info, null);
      }
      assertTrue(view.isReadOnly());
      byte[] copy = new byte[view.remaining()];
      view.get(copy);
      return new Entry(info, copy);
    }
  }

  @BeforeEach
  void open() {
    store = KvStore.open(directory, KvOptions.builder().clock(clock).build());
  }

  @AfterEach
  void close() {
    store.close();
  }

  /** Inline, in the log, in the log and compressed. */
  private static List<byte[]> values() {
    byte[] noise = new byte[3_000];
    new Random(11).nextBytes(noise);
    return List.of(new byte[0], new byte[] {1, 2, 3}, noise, new byte[100_000]);
  }

  @Test
  void everyReaderGivesWhatInfoAndGetWouldGive() {
    Keyspace space = store.keyspace("space");
    for (byte[] value : values()) {
      store.put(KEY, value);
      store.in(space).putUntil(KEY, value, NOW + 9);
      for (int round = 0; round < 2; round++) {
        try (Snapshot snapshot = store.snapshot();
            Transaction transaction = store.begin()) {
          for (KvReader reader : List.of(store, snapshot, transaction)) {
            same(reader, value, OptionalLong.empty());
          }
          for (KvReader reader :
              List.of(store.in(space), snapshot.in(space), transaction.in(space))) {
            same(reader, value, OptionalLong.of(NOW + 9));
          }
        }
        store.compact();
      }
    }
  }

  private static void same(KvReader reader, byte[] value, OptionalLong expiry) {
    Entry entry = read(reader, KEY);
    assertArrayEquals(value, entry.value());
    assertArrayEquals(reader.get(KEY), entry.value());
    assertEquals(reader.info(KEY), entry.info());
    assertEquals(value.length, entry.info().valueLength());
    assertEquals(expiry, entry.info().expiresAtMillis());
    assertTrue(entry.info().version() > 0);
    assertNull(reader.readWithInfo(OTHER, Entry::of));
  }

  @Test
  void whatIsLongerThanAskedForIsNotHandedOut() {
    for (byte[] value : values()) {
      store.put(KEY, value);
      for (int round = 0; round < 2; round++) {
        Entry whole = bounded(store, value.length);
        assertArrayEquals(value, whole.value());
        if (value.length > 0) {
          Entry without = bounded(store, value.length - 1);
          assertNull(without.value());
          assertEquals(whole.info(), without.info());
        }
        store.flush();
      }
    }
    assertThrows(
        IllegalArgumentException.class, () -> store.readWithInfo(KEY, -1, (info, view) -> info));
    assertNull(store.readWithInfo(OTHER, 10, Entry::of));
  }

  @Test
  void aTransactionShowsItsOwnWritesWithoutAVersion() {
    store.put(KEY, new byte[1]);
    store.put(OTHER, new byte[1]);
    try (Transaction transaction = store.begin()) {
      transaction.putUntil(KEY, new byte[] {7, 7}, NOW + 5);
      transaction.delete(OTHER);

      Entry own = read(transaction, KEY);

      assertArrayEquals(new byte[] {7, 7}, own.value());
      assertEquals(new EntryInfo(0, 2, OptionalLong.of(NOW + 5)), own.info());
      assertNull(bounded(transaction, 1).value());
      assertNull(transaction.readWithInfo(OTHER, Entry::of));
      assertThrows(
          IllegalArgumentException.class,
          () -> transaction.readWithInfo(KEY, -1, (info, view) -> info));
    }
  }

  @Test
  void whatHasExpiredIsAbsent() {
    store.putUntil(KEY, OTHER, NOW + 5);
    assertEquals(OptionalLong.of(NOW + 5), read(store, KEY).info().expiresAtMillis());
    clock.advance(5);
    assertNull(store.readWithInfo(KEY, Entry::of));
  }

  @Test
  void whatTheReaderThrowsGoesOutAndTheStoreGoesOn() {
    store.put(KEY, OTHER);
    for (int i = 0; i < 100; i++) {
      assertThrows(
          ArithmeticException.class,
          () ->
              store.readWithInfo(
                  KEY,
                  (info, view) -> {
                    assertThrows(IllegalStateException.class, store::close);
                    throw new ArithmeticException();
                  }));
    }
    assertArrayEquals(OTHER, read(store, KEY).value());
  }

  /** The value tells what was written last, and the version grows: both must be of one entry. */
  @Test
  void entryAndValueBelongTogetherWhileOthersWrite() throws InterruptedException {
    store.put(KEY, value(0));
    AtomicBoolean done = new AtomicBoolean();
    Thread writer =
        new Thread(
            () -> {
              for (int i = 1; !done.get(); i++) {
                store.put(KEY, value(i));
              }
            });
    writer.start();
    try {
      Entry before = read(store, KEY);
      for (int i = 0; i < 20_000; i++) {
        Entry now = read(store, KEY);
        byte[] value = Objects.requireNonNull(now.value());
        byte[] old = Objects.requireNonNull(before.value());
        assertEquals(value.length, now.info().valueLength());
        assertEquals(
            now.info().version() - before.info().version(),
            ByteBuffer.wrap(value).getInt() - (long) ByteBuffer.wrap(old).getInt());
        before = now;
      }
    } finally {
      done.set(true);
      writer.join();
    }
  }

  /** One write after the other by one thread: versions are as far apart as numbers. */
  private static byte[] value(int number) {
    byte[] value = new byte[4 + number % 1_500];
    Arrays.fill(value, (byte) number);
    ByteBuffer.wrap(value).putInt(number);
    return value;
  }

  private static Entry read(KvReader reader, byte[] key) {
    Entry entry = reader.readWithInfo(key, Entry::of);
    assertNotNull(entry);
    return Objects.requireNonNull(entry);
  }

  private static Entry bounded(KvReader reader, int valueBytesMax) {
    Entry entry = reader.readWithInfo(KEY, valueBytesMax, Entry::of);
    assertNotNull(entry);
    return Objects.requireNonNull(entry);
  }
}
