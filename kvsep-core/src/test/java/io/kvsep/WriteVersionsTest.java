package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which version a write got, told by the write itself. */
final class WriteVersionsTest {
  private static final byte[] KEY = bytes("key");
  private static final Duration DAY = Duration.ofDays(1);

  @TempDir Path directory;
  private KvStore store;

  @BeforeEach
  void open() {
    KvOptions options =
        KvOptions.builder()
            .memoryBudgetBytes(16 << 20)
            .segmentBytes(4 << 20)
            .valueCompression(ValueCompression.NONE)
            .build();
    store = KvStore.open(directory, options);
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void aPutTellsTheVersionThatTheEntryHas() {
    KvView space = store.in(store.keyspace("space"));
    long last = 0;
    // In the index, in the log, and encoded while it is written.
    for (int length : List.of(0, 10, 5_000, 3 << 20)) {
      for (KvView view : List.of(store.in(store.keyspace("other")), space)) {
        long version = view.putVersioned(KEY, new byte[length]);
        assertEquals(version, version(view, KEY));
        assertTrue(version > last);
        last = view.putVersioned(KEY, new byte[length], DAY);
        assertEquals(last, version(view, KEY));
        assertTrue(last > version);
      }
      long version = store.putVersioned(KEY, new byte[length]);
      assertEquals(version, version(store, KEY));
      assertTrue(version > last);
      last = version;
    }
    store.compact();
    assertEquals(last, version(store, KEY));
  }

  @Test
  void writesOfABatchHaveConsecutiveVersionsInTheirOrder() {
    Keyspace space = store.keyspace("space");
    WriteBatch batch = new WriteBatch();
    List<byte[]> keys = new ArrayList<>();
    // Descending keys, and more than a memtable holds.
    for (int i = 2_000; i > 0; i--) {
      keys.add(key(i));
      batch.put(key(i), new byte[i % 7 == 0 ? 3_000 : 100], DAY);
    }

    long last = store.writeVersioned(batch);

    for (int i = 0; i < keys.size(); i++) {
      assertEquals(last - keys.size() + 1 + i, version(store, keys.get(i)));
    }
    batch.clear();
    batch.put(key(1), KEY).put(key(2), KEY).deleteRange(key(3), key(9)).delete(key(2)).in(space);
    batch.put(key(3), KEY).deleteRange(key(9), key(3)).put(key(4), KEY).inDefault();
    batch.put(key(1), KEY);
    assertEquals(7, batch.count());

    long next = store.writeVersioned(batch);

    assertEquals(last + 7, next);
    assertEquals(next, version(store, key(1)));
    assertNull(store.info(key(2)));
    assertEquals(next - 1, version(store.in(space), key(4)));
    assertEquals(next - 2, version(store.in(space), key(3)));
  }

  @Test
  void aBatchWithoutWritesHasNoVersion() {
    assertEquals(0, store.writeVersioned(new WriteBatch()));
    assertEquals(0, store.writeVersioned(new WriteBatch().deleteRange(KEY, KEY)));
    assertEquals(0, store.stats().commits());
  }

  @Test
  void writersAtTheSameTimeGetEachTheirOwn() throws Exception {
    ExecutorService writers = Executors.newFixedThreadPool(6);
    try {
      List<Future<Map<Integer, Long>>> told = new ArrayList<>();
      for (int writer = 0; writer < 6; writer++) {
        int own = writer;
        told.add(writers.submit(() -> write(own)));
      }
      Set<Long> all = new HashSet<>();
      for (Future<Map<Integer, Long>> versions : told) {
        for (Map.Entry<Integer, Long> version : versions.get().entrySet()) {
          assertTrue(all.add(version.getValue()), "one version for two writes");
          assertEquals(version.getValue(), version(store, key(version.getKey())));
        }
      }
      assertEquals(6 * 600, all.size());
    } finally {
      writers.shutdownNow();
    }
  }

  /** Keys of its own, by all ways to write. */
  private Map<Integer, Long> write(int writer) {
    Map<Integer, Long> told = new HashMap<>();
    int key = writer * 10_000;
    for (int i = 0; i < 200; i++) {
      told.put(key, store.putVersioned(key(key), new byte[i * 10]));
      key++;
      int inBatch = key++;
      told.put(
          inBatch, store.writeVersioned(new WriteBatch().put(KEY, KEY).put(key(inBatch), KEY)));
      int inTransaction = key++;
      Transaction committed =
          store.transact(
              transaction -> {
                transaction.contains(key(inTransaction));
                transaction.put(key(inTransaction), KEY);
                return transaction;
              });
      told.put(inTransaction, committed.version());
    }
    return told;
  }

  @Test
  void aTransactionTellsTheVersionOfItsLastWriteAfterItsCommit() {
    Keyspace early = store.keyspace("z");
    Keyspace late = store.keyspace("a");
    try (Transaction transaction = store.begin()) {
      assertThrows(IllegalStateException.class, transaction::version);
      assertEquals(0, transaction.in(late).putVersioned(key(5), KEY));
      assertEquals(0, transaction.in(early).putVersioned(key(6), KEY, DAY));
      transaction.put(key(9), KEY);
      transaction.put(key(7), KEY);
      transaction.put(key(2), KEY);
      transaction.deleteRange(key(1), key(3));
      transaction.deleteRange(key(3), key(5));
      transaction.in(early).deleteRange(key(1), key(2));
      transaction.put(key(9), KEY);
      assertThrows(IllegalStateException.class, transaction::version);
      transaction.commit();

      // Two ranges, then keys 7 and 9 of the store's own, 6 of the first keyspace, 5 of the other.
      long last = transaction.version();
      assertEquals(6, last);
      assertEquals(last, version(store.in(late), key(5)));
      assertEquals(last - 1, version(store.in(early), key(6)));
      assertEquals(last - 2, version(store, key(9)));
      assertEquals(last - 3, version(store, key(7)));
      assertNull(store.info(key(2)));
      transaction.close();
      assertEquals(last, transaction.version());
    }
  }

  @Test
  void whatWasNotCommittedHasNoVersion() {
    Transaction conflicted = store.begin();
    conflicted.get(KEY);
    store.put(KEY, KEY);
    conflicted.put(KEY, KEY);
    assertThrows(ConflictException.class, conflicted::commit);
    Transaction rolledBack = store.begin();
    rolledBack.put(KEY, KEY);
    rolledBack.rollback();
    Transaction left = store.begin();
    left.close();
    for (Transaction transaction : List.of(conflicted, rolledBack, left)) {
      assertThrows(IllegalStateException.class, transaction::version);
    }
    Transaction withoutWrites = store.begin();
    withoutWrites.get(KEY);
    withoutWrites.commit();
    assertEquals(0, withoutWrites.version());
  }

  private static long version(KvReader reader, byte[] key) {
    EntryInfo info = reader.info(key);
    assertNotNull(info);
    return Objects.requireNonNull(info).version();
  }

  private static byte[] key(int number) {
    return bytes("key-%06d".formatted(number));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
