package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StoreClosedException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Range deletes through the public interface. */
final class DeleteRangeTest {
  private static final byte[] EMPTY = {};
  private static final byte[] VALUE = "value".getBytes(UTF_8);
  private static final int KEY_BYTES_MAX = 65_535;

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

  /** Runs a check in the memtable, after a flush, after a compaction and after a reopen. */
  private void everywhere(Runnable check) {
    check.run();
    store.flush();
    check.run();
    store.compact();
    check.run();
    store.close();
    store = KvStore.open(directory);
    check.run();
  }

  @Test
  void keysFromTheFirstBoundUpToTheSecondAreGone() {
    fill("a", "b", "ba", "bz", "c", "d");
    store.deleteRange(bytes("b"), bytes("c"));
    everywhere(() -> expect("a", "c", "d"));
  }

  @Test
  void manyDeletesFlushNothing() {
    for (int i = 0; i < 5_000; i++) {
      store.deleteRange(bytes(String.format("%05d", i)), bytes(String.format("%05d", i + 3)));
    }
    assertEquals(0, store.stats().flushes());
    fill("00007", "09999");
    everywhere(() -> expect("00007", "09999"));
  }

  @Test
  void writesAfterTheDeleteStay() {
    fill("a", "b", "c");
    store.deleteRange(bytes("a"), bytes("z"));
    fill("b", "x");
    everywhere(() -> expect("b", "x"));
    store.deleteRange(bytes("b"), bytes("c"));
    everywhere(() -> expect("x"));
  }

  @Test
  void tablesBelowAreCoveredToo() {
    fill("a", "b", "c", "d");
    store.compact();
    fill("b", "c");
    store.flush();
    store.deleteRange(bytes("b"), bytes("d"));
    everywhere(() -> expect("a", "d"));
  }

  @Test
  void inABatchOnlyWhatCameBeforeIsDeleted() {
    fill("a");
    WriteBatch batch =
        new WriteBatch()
            .put(bytes("b"), VALUE)
            .put(bytes("c"), VALUE)
            .deleteRange(bytes("a"), bytes("z"))
            .put(bytes("c"), VALUE)
            .put(bytes("d"), VALUE)
            .deleteRange(bytes("d"), bytes("e"))
            .delete(bytes("x"));
    assertEquals(7, batch.count());
    store.write(batch);
    everywhere(() -> expect("c"));
  }

  @Test
  void aBatchCanBeWrittenAgain() {
    WriteBatch batch = new WriteBatch().deleteRange(bytes("a"), bytes("c"));
    fill("a", "b", "c");
    store.write(batch);
    expect("c");
    fill("a");
    store.write(batch, Durability.sync());
    expect("c");
  }

  @Test
  void emptyBoundsAreTheFirstKeyThereCanBe() {
    fill("a", "b");
    store.put(new byte[] {0}, VALUE);
    store.deleteRange(bytes("a"), EMPTY);
    store.deleteRange(EMPTY, EMPTY);
    assertArrayEquals(VALUE, store.get(new byte[] {0}));
    expectCount(3);
    store.deleteRange(EMPTY, bytes("b"));
    everywhere(() -> expect("b"));
  }

  @Test
  void emptyAndReversedRangesAreNoWrites() {
    fill("a", "b");
    long commits = store.stats().commits();
    store.deleteRange(bytes("b"), bytes("a"));
    store.deleteRange(bytes("a"), bytes("a"));
    WriteBatch batch = new WriteBatch().deleteRange(bytes("b"), bytes("a"));
    assertEquals(0, batch.count());
    assertEquals(0, batch.bytes());
    store.write(batch);
    assertEquals(commits, store.stats().commits());
    expect("a", "b");
  }

  @Test
  void boundsMayBeAsLongAsKeys() {
    byte[] longest = new byte[KEY_BYTES_MAX];
    Arrays.fill(longest, (byte) 0xff);
    byte[] before = longest.clone();
    before[KEY_BYTES_MAX - 1] = 0;
    store.put(longest, VALUE);
    store.put(before, VALUE);
    fill("a");
    store.deleteRange(before, longest);
    everywhere(
        () -> {
          assertNull(store.get(before));
          assertArrayEquals(VALUE, store.get(longest));
          expectCount(2);
        });
  }

  @Test
  void boundsOverTheLimitAreRefusedAndChangeNothing() {
    fill("a");
    byte[] tooLong = new byte[KEY_BYTES_MAX + 1];
    Arrays.fill(tooLong, (byte) 'z');
    WriteBatch batch = new WriteBatch();
    long commits = store.stats().commits();
    for (Executable call :
        List.<Executable>of(
            () -> store.deleteRange(EMPTY, tooLong),
            () -> store.deleteRange(tooLong, EMPTY),
            () -> batch.deleteRange(EMPTY, tooLong),
            () -> batch.deleteRange(tooLong, EMPTY))) {
      assertThrows(LimitExceededException.class, call);
    }
    assertEquals(0, batch.count());
    assertEquals(commits, store.stats().commits());
    expect("a");
  }

  @Test
  @NullUnmarked // nulls are what is tested
  void nullsAreNamed() {
    WriteBatch batch = new WriteBatch();
    names("from", () -> store.deleteRange(null, VALUE));
    names("to", () -> store.deleteRange(VALUE, null));
    names("from", () -> batch.deleteRange(null, VALUE));
    names("to", () -> batch.deleteRange(VALUE, null));
    assertEquals(0, batch.count());
  }

  private static void names(String parameter, Executable call) {
    NullPointerException error = assertThrows(NullPointerException.class, call);
    assertTrue(String.valueOf(error.getMessage()).contains(parameter));
  }

  @Test
  void snapshotsAndCursorsOfBeforeSeeWhatWasThere() {
    fill("a", "b", "c");
    store.flush();
    fill("d");
    try (Snapshot snapshot = store.snapshot();
        KvCursor cursor = store.cursor()) {
      store.deleteRange(bytes("b"), bytes("z"));
      everywhereButReopen(
          () -> {
            expect("a");
            for (String key : List.of("a", "b", "c", "d")) {
              assertArrayEquals(VALUE, snapshot.get(bytes(key)));
            }
            try (KvCursor again = snapshot.cursor()) {
              assertEquals(List.of("a", "b", "c", "d"), keys(again));
            }
          });
      assertEquals(List.of("a", "b", "c", "d"), keys(cursor));
    }
    everywhere(() -> expect("a"));
  }

  private void everywhereButReopen(Runnable check) {
    check.run();
    store.flush();
    check.run();
    store.compact();
    check.run();
  }

  @Test
  void aSnapshotOfAfterSeesTheDeleteWhateverIsPutLater() {
    fill("a", "b", "c");
    store.deleteRange(bytes("a"), bytes("c"));
    try (Snapshot snapshot = store.snapshot()) {
      fill("a", "b");
      everywhereButReopen(
          () -> {
            assertNull(snapshot.get(bytes("a")));
            try (KvCursor cursor = snapshot.cursor()) {
              assertEquals(List.of("c"), keys(cursor));
            }
            expect("a", "b", "c");
          });
    }
  }

  @Test
  void entriesThatExpireAreDeletedLikeOthers() {
    store.put(bytes("a"), VALUE, Duration.ofDays(1));
    store.put(bytes("b"), VALUE, Duration.ofDays(1));
    store.deleteRange(bytes("a"), bytes("b"));
    everywhere(() -> expect("b"));
  }

  @Test
  void comparisonsSeeTheDelete() {
    fill("a");
    store.deleteRange(EMPTY, bytes("z"));
    assertFalse(store.compareAndDelete(bytes("a"), VALUE));
    assertFalse(store.compareAndSet(bytes("a"), VALUE, EMPTY));
    assertTrue(store.compareAndSet(bytes("a"), null, VALUE));
    expect("a");
  }

  @Test
  void aStoreOpenForReadingOnlySeesDeletesAndTakesNone() {
    fill("a", "b", "c");
    store.flush();
    store.deleteRange(bytes("b"), bytes("c"));
    store.close();
    try (KvStore reader = KvStore.open(directory, KvOptions.builder().readOnly(true).build())) {
      try (KvCursor cursor = reader.cursor()) {
        assertEquals(List.of("a", "c"), keys(cursor));
      }
      assertNull(reader.get(bytes("b")));
      assertThrows(ReadOnlyStoreException.class, () -> reader.deleteRange(bytes("a"), bytes("b")));
      assertThrows(ReadOnlyStoreException.class, () -> reader.deleteRange(EMPTY, EMPTY));
    }
  }

  @Test
  void aClosedStoreDeletesNothing() {
    store.close();
    assertThrows(StoreClosedException.class, () -> store.deleteRange(bytes("a"), bytes("b")));
    assertThrows(StoreClosedException.class, () -> store.deleteRange(bytes("b"), bytes("a")));
  }

  /** More fragments than one memtable takes, in one batch. */
  @Test
  void theTwoBoundsCountAsWhatTheUserWrote() {
    KvView view = store.in(store.keyspace("view"));
    WriteBatch batch = new WriteBatch().deleteRange(new byte[] {1}, new byte[] {2});
    assertEquals(2, batch.bytes());
    assertEquals(2, written(() -> store.write(batch)));
    assertEquals(5, written(() -> store.deleteRange(bytes("a"), bytes("abcd"))));
    assertEquals(5, written(() -> view.deleteRange(bytes("abcd"), bytes("b"))));
    assertEquals(3, written(() -> view.deleteRange(EMPTY, bytes("abc"))));
    assertEquals(
        4,
        written(
            () ->
                store.transact(
                    transaction -> {
                      transaction.deleteRange(bytes("b"), bytes("c"));
                      transaction.deleteRange(bytes("c"), bytes("def"));
                      return null;
                    })));
    assertEquals(0, written(() -> store.dropKeyspace(store.keyspace("view"))));
  }

  private long written(Runnable write) {
    long before = store.stats().userBytesWritten();
    write.run();
    return store.stats().userBytesWritten() - before;
  }

  @Test
  void thousandsOfRangesInOneBatchAreOneWrite() {
    WriteBatch puts = new WriteBatch();
    WriteBatch deletes = new WriteBatch();
    for (int i = 0; i < 10_000; i++) {
      puts.put(number(i), VALUE);
      if (i % 3 == 1) {
        deletes.deleteRange(number(i), number(i + 1));
      }
    }
    store.write(puts);
    store.write(deletes);
    everywhere(
        () -> {
          for (int i = 0; i < 10_000; i += 7) {
            assertEquals(i % 3 != 1, store.contains(number(i)));
          }
          expectCount(6_667);
        });
  }

  private static byte[] number(int i) {
    return String.format("%06d", i).getBytes(UTF_8);
  }

  private void fill(String... keys) {
    for (String key : keys) {
      store.put(bytes(key), VALUE);
    }
  }

  private void expect(String... keys) {
    try (KvCursor cursor = store.cursor()) {
      assertEquals(List.of(keys), keys(cursor));
    }
    List<String> reversed = new ArrayList<>(List.of(keys));
    Collections.reverse(reversed);
    try (KvCursor cursor = store.cursor(ScanOptions.all().reverse())) {
      assertEquals(reversed, keys(cursor));
    }
    for (String key : List.of("a", "b", "ba", "bz", "c", "d", "x", "z")) {
      assertEquals(List.of(keys).contains(key), store.contains(bytes(key)), key);
    }
  }

  private void expectCount(int count) {
    for (ScanOptions options : List.of(ScanOptions.all(), ScanOptions.all().reverse())) {
      int found = 0;
      try (KvCursor cursor = store.cursor(options)) {
        while (cursor.next()) {
          found++;
        }
      }
      assertEquals(count, found);
    }
  }

  private static List<String> keys(KvCursor cursor) {
    List<String> keys = new ArrayList<>();
    while (cursor.next()) {
      keys.add(new String(cursor.key(), UTF_8));
      assertArrayEquals(VALUE, cursor.value());
    }
    return keys;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
