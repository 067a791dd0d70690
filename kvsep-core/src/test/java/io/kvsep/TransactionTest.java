package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What one transaction shows, and how it ends. */
final class TransactionTest {
  private static final byte[] A = bytes("a");
  private static final byte[] B = bytes("b");
  private static final byte[] C = bytes("c");
  private static final byte[] VALUE = bytes("value");
  private static final byte[] OTHER = bytes("other");

  private final ManualClock clock = new ManualClock(1_000);
  private final CrashableStorage storage = new CrashableStorage();
  private final KvStore store =
      new OpenStore(
          StorageEngine.open(
              Engines.config(
                  storage,
                  CommitSync.EVERY_COMMIT,
                  clock,
                  new Random(1),
                  new ManualScheduler(1, 1))));

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void otherReadersSeeItsWritesOnlyAfterTheCommitAndThenAllOfThem() {
    Keyspace users = store.keyspace("users");
    store.put(B, OTHER);
    Transaction transaction = store.begin();
    transaction.put(A, VALUE);
    transaction.delete(B);
    transaction.in(users).put(A, OTHER);
    assertArrayEquals(VALUE, transaction.get(A));
    assertNull(transaction.get(B));
    assertArrayEquals(OTHER, transaction.in(users).get(A));
    assertNull(store.get(A));
    assertArrayEquals(OTHER, store.get(B));
    long commits = store.stats().commits();
    transaction.commit();
    assertEquals(commits + 1, store.stats().commits());
    assertArrayEquals(VALUE, store.get(A));
    assertNull(store.get(B));
    assertArrayEquals(OTHER, store.in(users).get(A));
  }

  @Test
  void everyReadSeesItsWrites() {
    store.write(new WriteBatch().put(A, OTHER).put(B, OTHER));
    try (Transaction transaction = store.begin()) {
      transaction.put(A, VALUE);
      transaction.deleteRange(B, C);
      assertTrue(transaction.contains(A));
      assertFalse(transaction.contains(B));
      List<byte @Nullable []> all = transaction.getAll(List.of(B, A, A));
      assertNull(all.get(0));
      assertArrayEquals(VALUE, all.get(1));
      assertEquals(5, transaction.<Integer>read(A, view -> view.remaining()));
      assertEquals(true, transaction.<Boolean>read(A, view -> view.isReadOnly()));
      assertNull(transaction.<Integer>read(B, view -> 1));
      Bytes<byte[]> target = Bytes.allocateElasticOnHeap();
      assertEquals(5, transaction.get(Bytes.wrapForRead(A), target));
      assertArrayEquals(VALUE, target.toByteArray());
      assertEquals(-1, transaction.get(Bytes.wrapForRead(B), target));
      assertEquals(List.of("a"), keys(transaction.cursor()));
      all.get(1)[0]++;
      assertArrayEquals(VALUE, transaction.get(A), "a copy was handed out");
    }
  }

  @Test
  void argumentsAreCopied() {
    byte[] key = A.clone();
    byte[] value = VALUE.clone();
    try (Transaction transaction = store.begin()) {
      transaction.put(key, value);
      key[0]++;
      value[0]++;
      assertArrayEquals(VALUE, transaction.get(A));
      transaction.commit();
    }
    assertArrayEquals(VALUE, store.get(A));
  }

  @Test
  void whatIsNoCounterIsRefusedByItsLength() {
    for (int length : new int[] {0, 7, 9, 100_000}) {
      store.put(A, new byte[length]);
      try (Transaction transaction = store.begin()) {
        transaction.put(B, new byte[length]);
        for (byte[] key : List.of(A, B)) {
          IllegalArgumentException refusal =
              assertThrows(IllegalArgumentException.class, () -> transaction.increment(key, 1));
          assertEquals("the value has " + length + " bytes, a counter has 8", refusal.getMessage());
          assertEquals(length, Objects.requireNonNull(transaction.get(key)).length);
        }
      }
    }
  }

  /** What is known of it tells the length. A value may have up to 1 GiB. */
  @Test
  void aValueThatIsNoCounterIsNotRead() throws IOException {
    byte[] value = new byte[100_000];
    new Random(2).nextBytes(value);
    store.put(A, value);
    store.flush();
    CrashableStorage damaged = storage.crashKeepingAll();
    damaged.corrupt(StoreFiles.segment(1), 50_000, found -> found ^ 1);
    EngineConfig config =
        Engines.config(
            damaged, CommitSync.EVERY_COMMIT, clock, new Random(1), new ManualScheduler(1, 1));
    try (KvStore other = new OpenStore(StorageEngine.open(config));
        Transaction transaction = other.begin()) {
      assertThrows(CorruptionException.class, () -> transaction.get(A));
      assertThrows(IllegalArgumentException.class, () -> transaction.increment(A, 1));
    }
  }

  @Test
  void aCounterCountsOnFromWhatTheTransactionWrote() {
    store.increment(A, 5);
    try (Transaction transaction = store.begin()) {
      assertEquals(6, transaction.increment(A, 1));
      assertEquals(4, transaction.increment(A, -2));
      transaction.delete(A);
      assertEquals(3, transaction.increment(A, 3));
      transaction.put(B, new byte[] {0, 0, 0, 0, 0, 0, 1, 0});
      assertEquals(257, transaction.increment(B, 1));
      transaction.commit();
    }
    assertEquals(3, store.increment(A, 0));
    assertEquals(257, store.increment(B, 0));
  }

  @Test
  void aCursorSeesTheWritesFromBeforeItWasMade() {
    store.write(new WriteBatch().put(A, VALUE).put(C, VALUE));
    try (Transaction transaction = store.begin()) {
      transaction.put(B, VALUE);
      KvCursor cursor = transaction.cursor();
      assertTrue(cursor.next());
      transaction.delete(A);
      transaction.delete(B);
      transaction.put(bytes("d"), VALUE);
      assertArrayEquals(VALUE, cursor.value());
      assertTrue(cursor.next());
      assertArrayEquals(B, cursor.key());
      assertTrue(cursor.next());
      assertFalse(cursor.next());
      assertTrue(cursor.seek(A));
      assertEquals(List.of("c", "d"), keys(transaction.cursor()));
    }
  }

  @Test
  void keysMayBeWrittenWhileACursorWalksOverThem() {
    for (int i = 0; i < 100; i++) {
      store.put(bytes("key" + (100 + i)), VALUE);
    }
    store.transact(
        transaction -> {
          try (KvCursor cursor = transaction.cursor()) {
            while (cursor.next()) {
              transaction.put(cursor.key(), OTHER);
              transaction.put(bytes("x" + cursor.key().length + "a"), OTHER);
            }
          }
          return 0;
        });
    assertArrayEquals(OTHER, store.get(bytes("key150")));
  }

  @Test
  void timesToLiveCountFromTheCommit() {
    Transaction transaction = store.begin();
    transaction.put(A, VALUE, Duration.ofMillis(10));
    clock.advance(50);
    assertArrayEquals(VALUE, transaction.get(A));
    try (KvCursor cursor = transaction.cursor()) {
      assertTrue(cursor.next());
      assertEquals(OptionalLong.of(1_060), cursor.expiresAtMillis());
    }
    transaction.commit();
    clock.advance(9);
    assertArrayEquals(VALUE, store.get(A));
    clock.advance(1);
    assertNull(store.get(A));
    assertThrows(
        IllegalArgumentException.class,
        () -> store.transact(other -> putFor(other, Duration.ZERO)));
  }

  private static boolean putFor(Transaction transaction, Duration timeToLive) {
    transaction.put(A, VALUE, timeToLive);
    return true;
  }

  @Test
  void limitsAreThoseOfTheStore() {
    try (Transaction transaction = store.begin()) {
      assertThrows(LimitExceededException.class, () -> transaction.get(new byte[0]));
      assertThrows(LimitExceededException.class, () -> transaction.put(new byte[0], VALUE));
      assertThrows(LimitExceededException.class, () -> transaction.delete(new byte[65_536]));
      assertThrows(
          LimitExceededException.class, () -> transaction.deleteRange(A, new byte[65_536]));
      transaction.deleteRange(new byte[0], C);
      assertThrows(LimitExceededException.class, () -> transaction.contains(new byte[65_536]));
      transaction.put(A, VALUE);
      transaction.commit();
    }
    assertArrayEquals(VALUE, store.get(A));
  }

  @Test
  void moreThanAMemtableFits() {
    store.transact(
        transaction -> {
          for (int i = 0; i < 2_000; i++) {
            transaction.put(bytes("key" + (10_000 + i)), new byte[60]);
          }
          return 0;
        });
    assertEquals(2_000, keys(store.cursor()).size());
  }

  @Test
  void aCommitIsRecoveredWhole() {
    store.transact(
        transaction -> {
          transaction.deleteRange(A, C);
          transaction.put(A, VALUE);
          return transaction.increment(B, 7);
        });
    CrashableStorage after = storage.crash(new Random(1));
    assertThrows(StorageException.class, store::close);
    try (KvStore reopened =
        new OpenStore(
            StorageEngine.open(
                Engines.config(
                    after,
                    CommitSync.ON_DEMAND,
                    clock,
                    new Random(1),
                    new ManualScheduler(1, 1))))) {
      assertArrayEquals(VALUE, reopened.get(A));
      assertEquals(8, reopened.increment(B, 1));
    }
  }

  @Test
  void theEndIsTheEnd() {
    List<Consumer<Transaction>> ends =
        List.of(
            Transaction::commit,
            Transaction::rollback,
            Transaction::close,
            transaction -> {
              store.delete(A);
              assertThrows(ConflictException.class, transaction::commit);
            });
    for (Consumer<Transaction> end : ends) {
      store.put(A, VALUE);
      Transaction transaction = store.begin();
      KvView view = transaction.in(store.keyspace("users"));
      KvCursor cursor = transaction.cursor();
      assertTrue(cursor.next());
      transaction.put(B, VALUE);
      end.accept(transaction);
      if (end == ends.get(3)) {
        // The usual reaction to a conflict.
        transaction.rollback();
        transaction.rollback();
      } else {
        assertThrows(StoreClosedException.class, transaction::rollback);
      }
      checkOver(transaction, view, cursor);
      assertEquals(0, store.stats().openSnapshots());
      assertEquals(0, store.stats().openCursors());
    }
  }

  private static void checkOver(Transaction transaction, KvView view, KvCursor cursor) {
    List<Runnable> uses =
        List.of(
            () -> transaction.get(A),
            () -> transaction.contains(B),
            () -> transaction.getAll(List.of()),
            () -> transaction.read(A, value -> 1),
            () -> transaction.readWithInfo(A, (info, value) -> info),
            () -> transaction.get(Bytes.wrapForRead(A), Bytes.allocateElasticOnHeap()),
            () -> transaction.cursor(),
            () -> transaction.put(A, VALUE),
            () -> transaction.put(A, VALUE, Duration.ofDays(1)),
            () -> transaction.delete(A),
            () -> transaction.deleteRange(B, A),
            () -> transaction.increment(C, 1),
            transaction::commit,
            () -> view.get(A),
            () -> view.put(A, VALUE),
            cursor::next,
            cursor::key,
            cursor::isValid);
    for (Runnable use : uses) {
      assertThrows(StoreClosedException.class, use::run);
    }
    transaction.close();
    cursor.close();
  }

  @Test
  void aTransactionThatWroteNothingNeverConflicts() {
    store.put(A, VALUE);
    try (Transaction transaction = store.begin()) {
      assertArrayEquals(VALUE, transaction.get(A));
      transaction.deleteRange(B, A);
      assertNull(transaction.compute(B, value -> null));
      store.put(A, B);
      store.put(B, A);
      assertArrayEquals(VALUE, transaction.get(A));
      assertNull(transaction.get(B));
      transaction.commit();
      assertEquals(0, transaction.version());
    }
  }

  @Test
  void aRollbackAfterACommitThatWasRefusedDoesNothing() {
    Keyspace users = store.keyspace("users");
    Transaction transaction = store.begin();
    transaction.in(users).put(A, VALUE);
    store.dropKeyspace(users);
    assertThrows(IllegalStateException.class, transaction::commit);
    transaction.rollback();
    transaction.close();
  }

  @Test
  void aDroppedKeyspaceIsRefused() {
    Keyspace users = store.keyspace("users");
    try (Transaction reading = store.begin();
        Transaction writing = store.begin()) {
      reading.in(users).get(A);
      reading.put(A, VALUE);
      KvView view = writing.in(users);
      view.put(A, VALUE);
      store.dropKeyspace(users);
      assertThrows(IllegalStateException.class, () -> view.get(A));
      assertThrows(IllegalStateException.class, () -> view.put(A, VALUE));
      assertThrows(IllegalStateException.class, () -> writing.in(users));
      writing.put(B, VALUE);
      assertThrows(IllegalStateException.class, writing::commit);
      assertThrows(ConflictException.class, reading::commit);
    }
    assertEquals(List.of(), keys(store.cursor()));
  }

  @Test
  void anotherStoresKeyspaceIsRefused() {
    try (KvStore another =
            new OpenStore(
                StorageEngine.open(
                    Engines.config(new CrashableStorage(), new ManualScheduler(1, 1))));
        Transaction transaction = store.begin()) {
      Keyspace foreign = another.keyspace("users");
      assertThrows(IllegalArgumentException.class, () -> transaction.in(foreign));
    }
  }

  @Test
  void aSecondThreadIsRefusedWhileACallIsUnderWay() throws Exception {
    store.put(A, VALUE);
    try (Transaction transaction = store.begin()) {
      CountDownLatch inside = new CountDownLatch(1);
      CountDownLatch refused = new CountDownLatch(1);
      FutureTask<Integer> reading =
          new FutureTask<>(
              () ->
                  transaction.<Integer>read(
                      A,
                      value -> {
                        // The same thread may go on inside.
                        assertTrue(transaction.contains(A));
                        inside.countDown();
                        awaitQuietly(refused);
                        return value.remaining();
                      }));
      Thread thread = new Thread(reading);
      thread.start();
      inside.await();
      assertThrows(IllegalStateException.class, () -> transaction.get(A));
      assertThrows(IllegalStateException.class, transaction::commit);
      refused.countDown();
      assertEquals(5, reading.get());
      thread.join();
      transaction.put(B, VALUE);
      transaction.commit();
    }
    assertTrue(store.contains(B));
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void afterTheStoreIsClosedEverythingIsRefused() {
    store.put(A, VALUE);
    Transaction transaction = store.begin();
    Transaction empty = store.begin();
    KvCursor cursor = transaction.cursor();
    assertTrue(cursor.next());
    transaction.put(B, VALUE);
    store.close();
    assertThrows(StoreClosedException.class, () -> transaction.get(A));
    assertThrows(StoreClosedException.class, () -> transaction.get(B));
    assertThrows(StoreClosedException.class, () -> transaction.put(B, VALUE));
    assertThrows(StoreClosedException.class, cursor::isValid);
    assertThrows(StoreClosedException.class, transaction::commit);
    assertThrows(StoreClosedException.class, empty::commit);
    assertThrows(StoreClosedException.class, store::begin);
    assertThrows(StoreClosedException.class, () -> store.transact(other -> 1));
    transaction.close();
    empty.close();
  }

  private static List<String> keys(KvCursor cursor) {
    List<String> keys = new ArrayList<>();
    try (cursor) {
      while (cursor.next()) {
        keys.add(new String(cursor.key(), UTF_8));
      }
    }
    return keys;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
