package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Predicate;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What two transactions may do to each other, and what they may not. Every case is tried with the
 * change of the other still in the memtable, in a table, and in a merged table.
 */
final class TransactionConflictTest {
  private static final byte[] A = bytes("a");
  private static final byte[] B = bytes("b");
  private static final byte[] M = bytes("m");
  private static final byte[] Z = bytes("z");
  private static final byte[] OTHER = bytes("other");
  private static final byte[] VALUE = bytes("value");

  private final ManualClock clock = new ManualClock(1_000);
  private KvStore store = open();

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void lostUpdate() {
    conflicts(transaction -> transaction.get(A), () -> store.put(A, VALUE));
  }

  @Test
  void everyWayToReadAKeyCounts() {
    Runnable change = () -> store.delete(B);
    conflicts(transaction -> transaction.contains(B), change);
    conflicts(transaction -> transaction.getAll(List.of(A, B)), change);
    conflicts(transaction -> transaction.read(B, value -> 1), change);
    conflicts(transaction -> transaction.readWithInfo(B, (info, value) -> info), change);
    conflicts(transaction -> transaction.readWithInfo(B, 0, (info, value) -> info), change);
    conflicts(
        transaction -> transaction.get(Bytes.wrapForRead(B), Bytes.allocateElasticOnHeap()),
        change);
    conflicts(
        transaction ->
            assertThrows(IllegalArgumentException.class, () -> transaction.increment(B, 1)),
        change);
  }

  @Test
  void aKeyThatWasAbsentCounts() {
    byte[] absent = bytes("absent");
    conflicts(transaction -> assertNull(transaction.get(absent)), () -> store.put(absent, VALUE));
    conflicts(transaction -> transaction.get(absent), () -> store.delete(absent));
  }

  @Test
  void deletesOfRangesCount() {
    conflicts(transaction -> transaction.get(B), () -> store.deleteRange(A, M));
    conflicts(transaction -> transaction.get(bytes("lost")), () -> store.deleteRange(A, M));
    commits(transaction -> transaction.get(M), () -> store.deleteRange(A, M));
    conflicts(transaction -> scan(transaction, A, B), () -> store.deleteRange(new byte[0], Z));
    commits(transaction -> scan(transaction, M, Z), () -> store.deleteRange(A, M));
  }

  @Test
  void otherKeysDoNotCount() {
    commits(transaction -> transaction.get(A), () -> store.put(bytes("aa"), VALUE));
    commits(transaction -> transaction.get(bytes("aa")), () -> store.put(A, VALUE));
    commits(
        transaction -> transaction.get(A), () -> store.in(store.keyspace("users")).put(A, VALUE));
  }

  @Test
  void aCursorThatMayShowNothingHasReadNothing() {
    Runnable change = () -> store.deleteRange(new byte[0], new byte[] {(byte) 0xff});
    ScanOptions none = ScanOptions.all().limit(0);
    for (ScanOptions options : List.of(none, none.reverse())) {
      commits(transaction -> move(transaction, options, KvCursor::next), change);
      commits(transaction -> move(transaction, options, KvCursor::previous), change);
      commits(transaction -> move(transaction, options, cursor -> cursor.seek(B)), change);
      commits(transaction -> move(transaction, options, cursor -> cursor.seekFloor(B)), change);
    }
  }

  private static void move(Transaction transaction, ScanOptions options, Predicate<KvCursor> move) {
    try (KvCursor cursor = transaction.cursor(options)) {
      assertFalse(move.test(cursor));
    }
  }

  @Test
  void keyspacesCount() {
    Keyspace users = store.keyspace("users");
    conflicts(transaction -> transaction.in(users).get(A), () -> store.in(users).put(A, VALUE));
    conflicts(
        transaction -> transaction.in(users).cursor().next(), () -> store.in(users).delete(Z));
    commits(transaction -> scan(transaction, null, null), () -> store.in(users).delete(Z));
  }

  @Test
  void writeSkew() {
    // Each doctor may go off call when the other stays.
    byte[] alice = bytes("alice");
    byte[] bob = bytes("bob");
    store.write(new WriteBatch().put(alice, VALUE).put(bob, VALUE));
    try (Transaction one = store.begin();
        Transaction other = store.begin()) {
      assertTrue(one.contains(alice) && one.contains(bob));
      assertTrue(other.contains(alice) && other.contains(bob));
      one.delete(alice);
      other.delete(bob);
      one.commit();
      assertThrows(ConflictException.class, other::commit);
    }
    assertFalse(store.contains(alice));
    assertTrue(store.contains(bob));
  }

  @Test
  void phantoms() {
    byte[] between = bytes("c");
    Consumer<Transaction> scan = transaction -> scan(transaction, A, M);
    conflicts(scan, () -> store.put(between, VALUE));
    conflicts(scan, () -> store.delete(between));
    commits(scan, () -> store.put(M, VALUE));
    commits(scan, () -> store.put(bytes("A"), VALUE));
    conflicts(transaction -> scan(transaction, between, bytes("d")), () -> store.put(between, A));
    conflicts(transaction -> scan(transaction, null, null), () -> store.put(bytes("zz"), VALUE));
  }

  @Test
  void twoPhantomsOfOneRange() {
    try (Transaction one = store.begin();
        Transaction other = store.begin()) {
      scan(one, null, null);
      scan(other, null, null);
      one.put(bytes("one"), VALUE);
      other.put(bytes("other one"), VALUE);
      other.commit();
      assertThrows(ConflictException.class, one::commit);
    }
  }

  @Test
  void aScanReadsAsFarAsItWent() {
    Consumer<Transaction> first = transaction -> transaction.cursor(range(A, null)).next();
    commits(first, () -> store.put(bytes("a1"), VALUE));
    conflicts(first, () -> store.put(A, VALUE));
    Consumer<Transaction> last =
        transaction -> transaction.cursor(range(null, Z).reverse().keysOnly()).next();
    conflicts(last, () -> store.put(bytes("y"), VALUE));
    commits(last, () -> store.put(bytes("l"), VALUE));
    commits(last, () -> store.put(Z, VALUE));
  }

  @Test
  void seeksReadFromTheKeyToWhatTheyFound() {
    Consumer<Transaction> seek = transaction -> transaction.cursor().seek(bytes("c"));
    conflicts(seek, () -> store.put(bytes("c"), VALUE));
    conflicts(seek, () -> store.put(bytes("l"), VALUE));
    conflicts(seek, () -> store.delete(M));
    commits(seek, () -> store.put(bytes("bz"), VALUE));
    commits(seek, () -> store.put(bytes("ma"), VALUE));
    Consumer<Transaction> floor = transaction -> transaction.cursor().seekFloor(bytes("c"));
    conflicts(floor, () -> store.put(bytes("c"), VALUE));
    conflicts(floor, () -> store.put(bytes("ba"), VALUE));
    commits(floor, () -> store.put(A, VALUE));
    commits(floor, () -> store.put(bytes("ca"), VALUE));
    Consumer<Transaction> past = transaction -> transaction.cursor().seek(bytes("zz"));
    conflicts(past, () -> store.put(bytes("zzz"), VALUE));
    commits(past, () -> store.put(Z, VALUE));
  }

  @Test
  void aCursorThatStaysOpenCounts() {
    store.write(new WriteBatch().put(A, VALUE).put(B, VALUE));
    try (Transaction transaction = store.begin()) {
      KvCursor cursor = transaction.cursor();
      assertTrue(cursor.next());
      assertTrue(cursor.next());
      transaction.put(OTHER, VALUE);
      store.put(bytes("ab"), VALUE);
      assertThrows(ConflictException.class, transaction::commit);
    }
  }

  @Test
  void aValueThatIsTheSameAgainCounts() {
    conflicts(transaction -> transaction.get(A), () -> store.put(A, VALUE));
    conflicts(
        transaction -> transaction.get(A),
        () -> {
          store.delete(A);
          store.put(A, VALUE);
        });
  }

  @Test
  void blindWritesNeverConflict() {
    commits(transaction -> transaction.put(A, bytes("mine")), () -> store.put(A, VALUE));
    assertArrayEquals(bytes("mine"), store.get(A));
    commits(transaction -> transaction.delete(A), () -> store.put(A, VALUE));
    assertNull(store.get(A));
    commits(transaction -> transaction.deleteRange(A, Z), () -> store.put(bytes("c"), VALUE));
    assertNull(store.get(bytes("c")));
  }

  @Test
  void whatOwnWritesAnswerIsNoRead() {
    commits(
        transaction -> {
          transaction.put(A, VALUE);
          transaction.delete(B);
          transaction.deleteRange(M, Z);
          assertArrayEquals(VALUE, transaction.get(A));
          assertNull(transaction.get(B));
          assertFalse(transaction.contains(bytes("n")));
          transaction.getAll(List.of(A, B, M));
        },
        () -> {
          store.put(A, VALUE);
          store.put(B, VALUE);
          store.put(M, VALUE);
          store.put(bytes("n"), VALUE);
        });
  }

  @Test
  void readOnlyTransactionsNeverConflictAndCommitNothing() {
    try (Transaction transaction = store.begin()) {
      scan(transaction, null, null);
      transaction.get(A);
      store.put(A, OTHER);
      long commits = store.stats().commits();
      transaction.commit();
      assertEquals(commits, store.stats().commits());
    }
  }

  @Test
  void readsRepeat() {
    store.put(A, VALUE);
    try (Transaction transaction = store.begin()) {
      assertArrayEquals(VALUE, transaction.get(A));
      int entries = scan(transaction, null, null);
      store.put(A, OTHER);
      store.delete(B);
      store.deleteRange(M, Z);
      store.put(bytes("new"), VALUE);
      store.flush();
      store.compact();
      assertArrayEquals(VALUE, transaction.get(A));
      assertEquals(entries, scan(transaction, null, null));
      assertNull(transaction.get(bytes("new")));
    }
  }

  @Test
  void aConflictInACommitBeforeTheStoreWasWrittenOutTwiceIsFound() {
    try (Transaction transaction = store.begin()) {
      transaction.get(A);
      transaction.put(OTHER, VALUE);
      store.put(A, VALUE);
      for (int i = 0; i < 400; i++) {
        store.put(bytes("filler" + i), new byte[300]);
      }
      store.compact();
      assertThrows(ConflictException.class, transaction::commit);
    }
  }

  @Test
  void manyReadKeysAreOnlyKnownRoughlyAndNothingIsMissed() {
    try (Transaction transaction = store.begin()) {
      for (int i = 0; i < 120_000; i++) {
        transaction.contains(bytes("key " + (1_000_000 + i * 7)));
      }
      transaction.put(OTHER, VALUE);
      store.put(bytes("key " + (1_000_000 + 63_007 * 7)), VALUE);
      assertThrows(ConflictException.class, transaction::commit);
    }
    try (Transaction transaction = store.begin()) {
      for (int i = 0; i < 120_000; i++) {
        transaction.contains(bytes("key " + (1_000_000 + i * 7)));
      }
      transaction.put(OTHER, VALUE);
      store.put(bytes("kez"), VALUE);
      transaction.commit();
    }
  }

  @Test
  void ofSixteenThatWantTheSameExactlyOneWins() throws Exception {
    int threads = 16;
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      for (int round = 0; round < 20; round++) {
        store.put(A, VALUE);
        CyclicBarrier all = new CyclicBarrier(threads);
        List<Future<Boolean>> outcomes = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
          byte[] mine = bytes("winner " + i);
          outcomes.add(pool.submit(() -> changes(all, mine)));
        }
        int winners = 0;
        for (int i = 0; i < threads; i++) {
          if (outcomes.get(i).get()) {
            winners++;
            assertArrayEquals(bytes("winner " + i), store.get(A));
          }
        }
        assertEquals(1, winners);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  private boolean changes(CyclicBarrier all, byte[] mine) throws Exception {
    try (Transaction transaction = store.begin()) {
      transaction.get(A);
      transaction.put(A, mine);
      all.await();
      transaction.commit();
      return true;
    } catch (ConflictException e) {
      return false;
    }
  }

  private void conflicts(Consumer<Transaction> read, Runnable change) {
    for (Runnable later : later()) {
      try (Transaction transaction = transactionAfter(read, change, later)) {
        assertThrows(ConflictException.class, transaction::commit);
      }
      assertNull(store.get(OTHER), "a transaction that lost has written");
    }
  }

  private void commits(Consumer<Transaction> read, Runnable change) {
    for (Runnable later : later()) {
      try (Transaction transaction = transactionAfter(read, change, later)) {
        transaction.commit();
      }
      assertArrayEquals(VALUE, store.get(OTHER));
    }
  }

  private Transaction transactionAfter(
      Consumer<Transaction> read, Runnable change, Runnable later) {
    byte[] end = {(byte) 0xff};
    WriteBatch before = new WriteBatch().deleteRange(new byte[0], end);
    before.put(A, VALUE).put(B, VALUE).put(M, VALUE).put(Z, VALUE);
    store.write(before.in(store.keyspace("users")).deleteRange(new byte[0], end));
    Transaction transaction = store.begin();
    read.accept(transaction);
    transaction.put(OTHER, VALUE);
    change.run();
    later.run();
    return transaction;
  }

  private List<Runnable> later() {
    return List.of(() -> {}, store::flush, store::compact);
  }

  private static int scan(Transaction transaction, byte @Nullable [] from, byte @Nullable [] to) {
    int entries = 0;
    try (KvCursor cursor = transaction.cursor(ScanOptions.range(from, to))) {
      while (cursor.next()) {
        entries++;
      }
    }
    return entries;
  }

  private static ScanOptions range(byte @Nullable [] from, byte @Nullable [] to) {
    return ScanOptions.range(from, to);
  }

  private KvStore open() {
    return new OpenStore(
        StorageEngine.open(
            Engines.config(
                new CrashableStorage(),
                CommitSync.ON_DEMAND,
                clock,
                new Random(1),
                new ThreadScheduler(1))));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
