package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.ManualClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Uncommitted writes that are read back; {@link WriteBufferModelTest} compares many more. */
final class WriteBufferTest {
  private static final long NOW = 1_000_000;
  private static final byte[] A = "a".getBytes(UTF_8);
  private static final byte[] B = "b".getBytes(UTF_8);
  private static final byte[] C = "c".getBytes(UTF_8);

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
  void itsWritesAreReadBackAndSeenByOthersOnlyAfterTheCommit() {
    try (WriteBuffer buffer = store.buffer()) {
      buffer.put(A, B);
      assertArrayEquals(B, buffer.get(A));
      assertNull(store.get(A));
      assertEquals(2, buffer.bytes());
      buffer.commit();
      assertArrayEquals(B, store.get(A));
      assertEquals(0, buffer.bytes());
      assertArrayEquals(B, buffer.get(A));
    }
    assertEquals(1, store.stats().commits());
  }

  @Test
  void readsSeeTheNewestStateUnderItsWrites() {
    try (WriteBuffer buffer = store.buffer()) {
      buffer.put(B, B);
      store.put(A, A);
      assertEquals(new KvEntry(A, A), buffer.first());
      store.put(B, C);
      assertArrayEquals(B, buffer.get(B));
      buffer.deleteRange(A, B);
      assertNull(buffer.get(A));
      assertArrayEquals(A, store.get(A));
      buffer.discard();
      assertArrayEquals(A, buffer.get(A));
      assertArrayEquals(C, buffer.get(B));
    }
  }

  @Test
  void aCursorShowsTheMomentOfItsCreationAlsoAfterTheCommit() {
    store.put(A, A);
    try (WriteBuffer buffer = store.buffer()) {
      buffer.put(B, B);
      try (KvCursor cursor = buffer.cursor()) {
        buffer.put(C, C);
        buffer.commit();
        store.delete(A);
        assertTrue(cursor.next());
        assertArrayEquals(A, cursor.key());
        assertTrue(cursor.next());
        assertArrayEquals(B, cursor.value());
        assertFalse(cursor.next());
      }
    }
  }

  @Test
  void buffersDoNotConflictAndTheLastCommitWins() {
    try (WriteBuffer one = store.buffer();
        WriteBuffer other = store.buffer()) {
      assertNull(one.get(A));
      assertNull(other.get(A));
      one.put(A, B);
      other.put(A, C);
      one.commit();
      other.commit();
    }
    assertArrayEquals(C, store.get(A));
  }

  @Test
  void aBatchIsCommittedWithItAndBehindIt() {
    Keyspace named = store.keyspace("named");
    WriteBatch extra = new WriteBatch().put(A, C).in(named).put(A, B);
    try (WriteBuffer buffer = store.buffer()) {
      buffer.put(A, A);
      buffer.put(B, B);
      buffer.commit(extra);
      assertEquals(1, store.stats().commits());
      assertEquals(2, extra.count());
      assertArrayEquals(C, store.get(A));
      assertArrayEquals(B, store.get(B));
      assertArrayEquals(B, store.in(named).get(A));
      buffer.commit(extra);
      buffer.commit();
      assertEquals(2, store.stats().commits());
    }
  }

  @Test
  void timesToLiveStartAtTheCommit() {
    try (WriteBuffer buffer = store.buffer()) {
      buffer.put(A, A, Duration.ofMillis(100));
      clock.advance(1_000);
      assertArrayEquals(A, buffer.get(A));
      buffer.commit();
    }
    assertEquals(
        OptionalLong.of(NOW + 1_100), Objects.requireNonNull(store.info(A)).expiresAtMillis());
  }

  @Test
  void aFailedCommitLeavesTheBufferAsItWas() {
    Keyspace named = store.keyspace("named");
    try (WriteBuffer buffer = store.buffer()) {
      buffer.put(A, A);
      buffer.in(named).put(B, B);
      store.dropKeyspace(named);
      assertThrows(IllegalStateException.class, buffer::commit);
      assertNull(store.get(A));
      assertEquals(4, buffer.bytes());
      assertThrows(IllegalStateException.class, () -> buffer.in(named));
      buffer.discard();
      buffer.put(A, A);
      assertThrows(
          IllegalStateException.class, () -> buffer.commit(new WriteBatch().in(named).delete(A)));
      buffer.commit();
      assertArrayEquals(A, store.get(A));
    }
  }

  @Test
  void aBatchOfAnotherStoreIsRefused(@TempDir Path second) {
    try (KvStore other = KvStore.open(second);
        WriteBuffer buffer = store.buffer()) {
      WriteBatch extra = new WriteBatch().in(other.keyspace("named")).put(A, A);
      assertThrows(IllegalArgumentException.class, () -> buffer.commit(extra));
      assertThrows(IllegalArgumentException.class, () -> buffer.in(other.keyspace("named")));
    }
  }

  @Test
  void aReadOnlyStoreIsReadThroughABufferAndNotWritten() {
    store.put(A, A);
    store.close();
    store = KvStore.open(directory, KvOptions.builder().readOnly(true).build());
    try (WriteBuffer buffer = store.buffer()) {
      buffer.commit();
      buffer.put(B, B);
      assertEquals(List.of(new KvEntry(A, A), new KvEntry(B, B)), all(buffer));
      assertThrows(ReadOnlyStoreException.class, buffer::commit);
    }
  }

  private static List<KvEntry> all(KvReader reader) {
    return reader.stream(ScanOptions.all()).toList();
  }

  @Test
  void limitsAreThoseOfWrites() {
    try (WriteBuffer buffer = store.buffer()) {
      assertThrows(LimitExceededException.class, () -> buffer.put(new byte[0], A));
      assertThrows(LimitExceededException.class, () -> buffer.put(new byte[65_536], A));
      assertEquals(0, buffer.bytes());
    }
  }

  @Test
  void aSecondThreadIsRefusedDuringACall() throws InterruptedException {
    store.put(A, A);
    AtomicReference<Throwable> refused = new AtomicReference<>();
    try (WriteBuffer buffer = store.buffer()) {
      buffer.read(
          A,
          view -> {
            Thread second = new Thread(() -> buffer.put(B, B));
            second.setUncaughtExceptionHandler((thread, error) -> refused.set(error));
            second.start();
            try {
              second.join();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            return view.remaining();
          });
    }
    assertInstanceOf(IllegalStateException.class, refused.get());
  }

  @Test
  void closingForgetsItsWritesAndClosesItsCursors() {
    WriteBuffer buffer = store.buffer();
    buffer.put(A, A);
    KvCursor cursor = buffer.cursor();
    buffer.close();
    buffer.close();
    assertThrows(StoreClosedException.class, cursor::next);
    assertThrows(StoreClosedException.class, buffer::commit);
    assertThrows(StoreClosedException.class, buffer::bytes);
    assertNull(store.get(A));
    assertEquals(0, store.stats().openCursors());
  }
}
