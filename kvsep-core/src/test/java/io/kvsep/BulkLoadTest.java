package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.DirectoryState;
import io.kvsep.testing.ManualClock;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bulk loads by the public calls, on a real disk. */
final class BulkLoadTest {
  @TempDir Path folder;

  private KvStore open() {
    KvOptions options =
        KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).build();
    return KvStore.open(folder.resolve("store"), options);
  }

  private static byte[] key(int n) {
    return String.format("key%06d", n).getBytes(UTF_8);
  }

  /** Of a length that follows from the number: beside the key, in order, or as it comes. */
  private static byte[] value(int n, int kind) {
    int[] lengths = {20, 700, 300, 2_000};
    byte[] value = new byte[n % 501 == 0 ? 20_000 : lengths[n % lengths.length]];
    new Random(n * 31L + kind).nextBytes(value);
    return value;
  }

  private static Map.Entry<byte[], byte[]> entry(int n, int kind) {
    return Map.entry(key(n), value(n, kind));
  }

  private static Stream<Map.Entry<byte[], byte[]>> entries(int from, int to, int kind) {
    return IntStream.range(from, to).mapToObj(n -> entry(n, kind));
  }

  private static List<Map.Entry<byte[], byte[]>> shuffled(int from, int to, int kind) {
    List<Map.Entry<byte[], byte[]>> all = new ArrayList<>(entries(from, to, kind).toList());
    Collections.shuffle(all, new Random(kind));
    return all;
  }

  private static void requireRange(KvReader store, int from, int to, int kind) {
    try (KvCursor cursor = store.cursor(ScanOptions.range(key(from), key(to)))) {
      for (int n = from; n < to; n++) {
        assertTrue(cursor.next());
        assertArrayEquals(key(n), cursor.key());
        assertArrayEquals(value(n, kind), cursor.value());
      }
      assertFalse(cursor.next());
    }
    for (int n = from; n < to; n += 7) {
      assertArrayEquals(value(n, kind), store.get(key(n)));
    }
  }

  private static void requireSound(KvStore store) {
    VerifyReport report = store.verify();
    assertTrue(report.isSound(), report::toString);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    // A compaction may be at work, whose table is no part of the store yet.
    while (!report.unknownFiles().isEmpty() && System.nanoTime() - deadline < 0) {
      report = store.verify();
    }
    assertEquals(List.of(), report.unknownFiles());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsLoadedIsThereAlsoAfterTheNextOpen(boolean sorted) {
    int count = 8_000;
    List<Map.Entry<byte[], byte[]>> all =
        sorted ? entries(0, count, 1).toList() : shuffled(0, count, 1);
    try (KvStore store = open()) {
      assertEquals(count, store.bulkLoad(all.iterator()));
      requireRange(store, 0, count, 1);
      requireSound(store);
      StoreStats stats = store.stats();
      assertEquals(count, stats.entriesEstimate());
      assertEquals(0L, stats.memoryBytes().getOrDefault("bulk_load", -1L));
      long raw = all.stream().mapToLong(e -> e.getKey().length + e.getValue().length).sum();
      assertEquals(raw, stats.userBytesWritten());
      assertTrue(stats.deviceBytesWritten() < 1.3 * raw, () -> stats.toString());
    }
    try (KvStore store = open()) {
      assertEquals(0, store.stats().replayedBytes());
      requireRange(store, 0, count, 1);
      requireSound(store);
    }
  }

  @Test
  void sortedEntriesLieInTheLastLevelAndTheirValuesInTheirOrder() {
    try (KvStore store = open()) {
      store.bulkLoad(entries(0, 8_000, 1));
      List<StoreStats.Level> levels = store.stats().levels();
      for (int level = 0; level < levels.size() - 1; level++) {
        assertEquals(0, levels.get(level).tables(), "tables in level " + level);
      }
      assertTrue(levels.get(levels.size() - 1).tables() > 0);
    }
  }

  @Test
  void theLastOfOneKeyCounts() {
    List<Map.Entry<byte[], byte[]>> all = shuffled(0, 5_000, 1);
    all.addAll(shuffled(1_000, 4_000, 2));
    all.addAll(shuffled(1_000, 4_000, 3));
    try (KvStore store = open()) {
      assertEquals(11_000, store.bulkLoad(all.iterator()));
      requireRange(store, 0, 1_000, 1);
      requireRange(store, 1_000, 4_000, 3);
      requireRange(store, 4_000, 5_000, 1);
      store.bulkLoad(List.of(entry(7, 1), entry(7, 2), entry(7, 3)).iterator());
      assertArrayEquals(value(7, 3), store.get(key(7)));
      requireSound(store);
    }
  }

  @Test
  void aLoadReplacesWhatWasThereAndIsReplacedByWhatComesLater() {
    try (KvStore store = open()) {
      for (int round = 0; round < 3; round++) {
        for (int n = 0; n < 3_000; n++) {
          store.put(key(n), value(n, 10));
        }
        store.flush();
        for (int n = 1_000; n < 2_000; n++) {
          store.put(key(n), value(n, 11));
        }
        store.deleteRange(key(1_500), key(1_600));
        store.bulkLoad(shuffled(500, 2_500, round).iterator());
        store.put(key(700), value(700, 12));
        store.delete(key(701));
        requireRange(store, 0, 500, 10);
        requireRange(store, 500, 700, round);
        assertArrayEquals(value(700, 12), store.get(key(700)));
        assertNull(store.get(key(701)));
        requireRange(store, 702, 2_500, round);
        requireRange(store, 2_500, 3_000, 10);
        store.compact();
        requireRange(store, 702, 2_500, round);
        assertNull(store.get(key(701)));
      }
      store.reclaim();
      requireRange(store, 702, 2_500, 2);
      requireSound(store);
    }
  }

  @Test
  void whoReadsAtAnEarlierMomentDoesNotSeeIt() {
    try (KvStore store = open()) {
      store.bulkLoad(entries(0, 1_000, 1));
      try (Snapshot before = store.snapshot();
          KvCursor cursor = store.cursor()) {
        assertTrue(cursor.next());
        store.bulkLoad(shuffled(500, 1_500, 2).iterator());
        store.compact();
        requireRange(before, 0, 1_000, 1);
        assertNull(before.get(key(1_200)));
        for (int n = 1; n < 1_000; n++) {
          assertTrue(cursor.next());
          assertArrayEquals(value(n, 1), cursor.value());
        }
        assertFalse(cursor.next());
        assertTrue(store.snapshot().sequence() > before.sequence());
      }
      requireRange(store, 500, 1_500, 2);
    }
  }

  @Test
  void aTransactionThatHasReadOneOfTheKeysMeetsAConflict() {
    try (KvStore store = open()) {
      store.put(key(5), new byte[] {1});
      for (boolean scans : new boolean[] {false, true}) {
        for (boolean meets : new boolean[] {false, true}) {
          try (Transaction transaction = store.begin()) {
            int read = meets ? 15 : 25;
            if (scans) {
              try (KvCursor cursor =
                  transaction.cursor(ScanOptions.range(key(read), key(read + 1)))) {
                cursor.next();
              }
            } else {
              transaction.get(key(read));
            }
            transaction.put(key(1), new byte[] {2});
            store.bulkLoad(entries(10, 20, 3));
            if (meets) {
              assertThrows(ConflictException.class, transaction::commit);
            } else {
              transaction.commit();
            }
          }
        }
      }
    }
  }

  @Test
  void anErrorOfTheIteratorLeavesNothing() throws IOException {
    try (KvStore store = open()) {
      store.bulkLoad(entries(0, 100, 1));
      store.flush();
      DirectoryState before = DirectoryState.of(folder.resolve("store"));
      List<Supplier<Map.Entry<byte[], byte[]>>> bad =
          List.of(
              () -> {
                throw new NoSuchElementException("on purpose");
              },
              () -> Map.entry(new byte[0], new byte[1]),
              () -> Map.entry(new byte[70_000], new byte[1]),
              () -> null);
      List<Class<? extends RuntimeException>> errors =
          List.of(
              NoSuchElementException.class,
              LimitExceededException.class,
              LimitExceededException.class,
              NullPointerException.class);
      for (int i = 0; i < bad.size(); i++) {
        Supplier<Map.Entry<byte[], byte[]>> last = bad.get(i);
        Iterator<Map.Entry<byte[], byte[]>> entries =
            Stream.concat(shuffled(0, 8_000, 2).stream(), Stream.of(0).map(n -> last.get()))
                .iterator();
        assertThrows(errors.get(i), () -> store.bulkLoad(entries));
        assertEquals(before.files(), DirectoryState.of(folder.resolve("store")).files());
      }
      requireRange(store, 0, 100, 1);
      assertNull(store.get(key(100)));
      assertEquals(0L, store.stats().memoryBytes().getOrDefault("bulk_load", -1L));
    }
  }

  @Test
  void entriesMayHaveAnEnd() {
    long now = 1_000_000;
    ManualClock clock = new ManualClock(now);
    KvOptions options = KvOptions.builder().clock(clock).build();
    try (KvStore store = KvStore.open(folder.resolve("store"), options)) {
      for (int n = 0; n < 4; n++) {
        store.put(key(n), value(n, 9));
      }
      List<Map.Entry<byte[], byte[]>> all = new ArrayList<>();
      for (int n = 0; n < 1_200; n++) {
        long end = n < 4 ? now - 1 : now + 10 + n;
        all.add(n % 3 == 2 ? entry(n, 1) : new ExpiringEntry(key(n), value(n, 1), end));
      }
      store.bulkLoad(all.iterator());
      for (int n = 0; n < 4; n++) {
        boolean stays = n % 3 == 2;
        assertEquals(stays, store.contains(key(n)), "key " + n);
      }
      try (KvCursor cursor = store.cursor()) {
        for (int n = 0; n < 1_200; n++) {
          if (n >= 4 || n % 3 == 2) {
            assertTrue(cursor.next());
            assertArrayEquals(value(n, 1), cursor.value());
            boolean ends = n % 3 != 2;
            assertEquals(ends, cursor.expiresAtMillis().isPresent());
            assertEquals(ends ? now + 10 + n : 0, cursor.expiresAtMillis().orElse(0));
          }
        }
      }
      requireSound(store);
      clock.advance(10 + 600);
      assertFalse(store.contains(key(600)));
      assertTrue(store.contains(key(601)));
      assertTrue(store.contains(key(302)));
      requireSound(store);
    }
  }

  @Test
  void anEndIsPositive() {
    for (long end : new long[] {0, -1, Long.MIN_VALUE}) {
      assertThrows(
          IllegalArgumentException.class, () -> new ExpiringEntry(key(1), value(1, 1), end));
    }
    assertEquals(1, new ExpiringEntry(key(1), value(1, 1), 1).expiresAtMillis());
  }

  /** Where all values lie beside their keys, closing leaves the log without a segment. */
  @Test
  void aLoadMayBeTheFirstThatIsDoneToAStoreWithoutALog() {
    for (int round = 0; round < 3; round++) {
      try (KvStore store = open()) {
        store.put(key(0), new byte[] {1});
        store.flush();
      }
      try (KvStore store = open()) {
        store.bulkLoad(entries(10 * round, 10 * round + 20, round));
        store.bulkLoad(entries(10 * round, 10 * round + 20, round + 1));
        requireRange(store, 10 * round + 1, 10 * round + 20, round + 1);
        store.put(key(0), new byte[] {2});
      }
    }
    try (KvStore store = open()) {
      assertArrayEquals(new byte[] {2}, store.get(key(0)));
      requireRange(store, 21, 40, 3);
      requireSound(store);
    }
  }

  @Test
  void noEntriesAreNoLoad() {
    try (KvStore store = open()) {
      long sequence = sequence(store);
      assertEquals(0, store.bulkLoad(Collections.emptyIterator()));
      assertEquals(sequence, sequence(store));
    }
  }

  private static long sequence(KvStore store) {
    try (Snapshot snapshot = store.snapshot()) {
      return snapshot.sequence();
    }
  }

  @Test
  void theIteratorMayReadAndWriteTheStore() {
    try (KvStore store = open()) {
      store.bulkLoad(entries(0, 3_000, 1));
      Keyspace space = store.keyspace("copy");
      try (KvCursor cursor = store.cursor()) {
        Iterator<Map.Entry<byte[], byte[]>> copied =
            Stream.generate(
                    () -> {
                      store.put(key(9_000), value(1, 5));
                      return cursor.next() ? Map.entry(cursor.key(), cursor.value()) : null;
                    })
                .takeWhile(entry -> entry != null)
                .iterator();
        assertEquals(3_000, store.bulkLoad(space, copied));
      }
      requireRange(store.in(space), 0, 3_000, 1);
      assertNull(store.in(space).get(key(9_000)));
      assertArrayEquals(value(1, 5), store.get(key(9_000)));
      Iterator<Map.Entry<byte[], byte[]>> nested =
          Stream.of(1)
              .map(
                  n -> {
                    store.bulkLoad(entries(0, 1, 1));
                    return entry(n, 1);
                  })
              .iterator();
      assertThrows(IllegalStateException.class, () -> store.bulkLoad(nested));
      requireSound(store);
    }
  }

  @Test
  void aKeyspaceThatIsDroppedMeanwhileTakesNothing() {
    try (KvStore store = open()) {
      Keyspace space = store.keyspace("gone");
      Iterator<Map.Entry<byte[], byte[]>> dropping =
          entries(0, 2_000, 1)
              .peek(
                  entry -> {
                    if (new String(entry.getKey(), UTF_8).equals("key001000")) {
                      store.dropKeyspace(space);
                    }
                  })
              .iterator();
      assertThrows(IllegalStateException.class, () -> store.bulkLoad(space, dropping));
      assertThrows(
          IllegalStateException.class, () -> store.bulkLoad(space, entries(0, 1, 1).iterator()));
      assertEquals(0, store.stats().entriesEstimate());
      requireSound(store);
    }
  }

  @Test
  void closingEndsALoad() throws InterruptedException {
    KvStore store = open();
    AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
    Thread closer = new Thread(store::close);
    Thread loader =
        new Thread(
            () -> {
              try {
                store.bulkLoad(
                    entries(0, Integer.MAX_VALUE, 1)
                        .peek(
                            entry -> {
                              if (closer.getState() == Thread.State.NEW) {
                                closer.start();
                              }
                            }));
              } catch (StoreClosedException e) {
                thrown.set(e);
              }
            });
    loader.start();
    loader.join();
    closer.join();
    assertTrue(thrown.get() instanceof StoreClosedException);
    try (KvStore again = open()) {
      assertEquals(0, again.stats().entriesEstimate());
      requireSound(again);
    }
  }

  /** Closing would wait for the load, which waits for its iterator. */
  @Test
  @Timeout(60)
  void theIteratorMayNotCloseTheStore() {
    try (KvStore store = open()) {
      Iterator<Map.Entry<byte[], byte[]>> closing =
          entries(0, 10, 1).peek(entry -> store.close()).iterator();
      assertThrows(IllegalStateException.class, () -> store.bulkLoad(closing));
      assertEquals(10, store.bulkLoad(entries(0, 10, 2)));
      requireRange(store, 0, 10, 2);
    }
  }

  @Test
  void backupsAndCheckpointsHoldIt() {
    ByteArrayOutputStream complete = new ByteArrayOutputStream();
    ByteArrayOutputStream increment = new ByteArrayOutputStream();
    Path copy = folder.resolve("copy");
    try (KvStore store = open()) {
      store.put(key(0), value(0, 9));
      long until = store.backup(complete, 0);
      store.bulkLoad(shuffled(0, 2_000, 1).iterator());
      store.checkpoint(copy);
      store.backup(increment, until);
    }
    try (KvStore opened = KvStore.open(copy);
        KvStore restored = KvStore.open(folder.resolve("restored"))) {
      requireRange(opened, 0, 2_000, 1);
      requireSound(opened);
      restored.restore(new ByteArrayInputStream(complete.toByteArray()));
      restored.restore(new ByteArrayInputStream(increment.toByteArray()));
      requireRange(restored, 0, 2_000, 1);
    }
  }

  @Test
  void aStoreForReadingRefusesIt() {
    open().close();
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore store = KvStore.open(folder.resolve("store"), reading)) {
      assertThrows(ReadOnlyStoreException.class, () -> store.bulkLoad(entries(0, 1, 1)));
    }
  }
}
