package io.kvsep.leveldb;

import static io.kvsep.leveldb.KvsepDBFactory.asString;
import static io.kvsep.leveldb.KvsepDBFactory.bytes;
import static io.kvsep.leveldb.KvsepDBFactory.factory;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StoreClosedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Calls of an open database and its iterators, and those that come too late. */
final class KvsepDBTest {
  private static final WriteOptions SYNC = new WriteOptions().sync(true);

  @TempDir Path folder;
  private DB db;

  @BeforeEach
  void open() throws IOException {
    db = factory.open(folder.resolve("data").toFile(), new Options());
  }

  @AfterEach
  void close() throws IOException {
    db.close();
  }

  private void put(String... keys) {
    for (String key : keys) {
      db.put(bytes(key), bytes("v" + key));
    }
  }

  private @Nullable String get(String key, @Nullable Snapshot snapshot) {
    return asString(db.get(bytes(key), new ReadOptions().snapshot(snapshot)));
  }

  private static Map.Entry<String, String> text(Map.Entry<byte[], byte[]> entry) {
    return entry(new String(entry.getKey(), UTF_8), new String(entry.getValue(), UTF_8));
  }

  private static String key(DBIterator iterator, boolean next) {
    Map.Entry<byte[], byte[]> peeked = next ? iterator.peekNext() : iterator.peekPrev();
    Map.Entry<byte[], byte[]> passed = next ? iterator.next() : iterator.prev();
    assertEquals(text(peeked), text(passed));
    assertEquals("v" + text(passed).getKey(), text(passed).getValue());
    return text(passed).getKey();
  }

  private static List<String> rest(DBIterator iterator, boolean next) {
    List<String> keys = new ArrayList<>();
    while (next ? iterator.hasNext() : iterator.hasPrev()) {
      keys.add(key(iterator, next));
    }
    assertThrows(NoSuchElementException.class, next ? iterator::next : iterator::prev);
    assertThrows(NoSuchElementException.class, next ? iterator::peekNext : iterator::peekPrev);
    return keys;
  }

  @Test
  void aSyncedWriteIsSynced() {
    long before = KvsepDBFactory.store(db).stats().syncs();
    assertNull(db.put(bytes("a"), bytes("1"), SYNC));
    assertNull(db.delete(bytes("b"), SYNC));
    assertNull(db.write(db.createWriteBatch().put(bytes("c"), bytes("3")), SYNC));
    assertEquals(before + 3, KvsepDBFactory.store(db).stats().syncs());
    assertEquals("1", asString(db.get(bytes("a"))));
    assertEquals("3", asString(db.get(bytes("c"))));
  }

  @Test
  void aWriteReturnsASnapshotIfAsked() throws IOException {
    WriteOptions asked = new WriteOptions().snapshot(true);
    try (Snapshot first = db.put(bytes("a"), bytes("1"), asked);
        Snapshot second = db.delete(bytes("a"), asked);
        Snapshot third = db.write(db.createWriteBatch().put(bytes("a"), bytes("3")), asked)) {
      db.put(bytes("a"), bytes("4"));
      assertEquals("1", get("a", first));
      assertNull(get("a", second));
      assertEquals("3", get("a", third));
      assertEquals("4", get("a", null));
    }
    assertNull(db.put(bytes("a"), bytes("5"), new WriteOptions()));
  }

  @Test
  void aBatchIsWrittenWholeAndMayBeWrittenAgain() throws IOException {
    put("a");
    WriteBatch batch = db.createWriteBatch();
    batch.put(bytes("b"), bytes("vb")).delete(bytes("a")).put(bytes("c"), bytes("vc"));
    batch.delete(bytes("c"));
    assertNull(db.get(bytes("b")));
    db.write(batch);
    try (DBIterator iterator = db.iterator()) {
      assertEquals(List.of("b"), rest(iterator, true));
    }
    db.delete(bytes("b"));
    batch.close();
    db.write(batch);
    assertEquals("vb", asString(db.get(bytes("b"))));
    WriteBatch others =
        new WriteBatch() {
          @Override
          public WriteBatch put(byte[] key, byte[] value) {
            return this;
          }

          @Override
          public WriteBatch delete(byte[] key) {
            return this;
          }

          @Override
          public void close() {}
        };
    assertThrows(IllegalArgumentException.class, () -> db.write(others));
  }

  @Test
  void aSnapshotIsOfOneDatabase() throws IOException {
    try (DB other = factory.open(folder.resolve("other").toFile(), new Options());
        Snapshot snapshot = other.getSnapshot()) {
      assertThrows(IllegalArgumentException.class, () -> get("a", snapshot));
      assertThrows(IllegalArgumentException.class, () -> get("a", () -> {}));
    }
  }

  @Test
  void iteratorsOfASnapshotSeeIt() throws IOException {
    put("a", "b");
    Snapshot snapshot = db.getSnapshot();
    db.delete(bytes("a"));
    put("c");
    DBIterator iterator = db.iterator(new ReadOptions().snapshot(snapshot).fillCache(false));
    snapshot.close();
    snapshot.close();
    assertEquals(List.of("a", "b"), rest(iterator, true));
    iterator.close();
    iterator.close();
    DBException closed = assertThrows(DBException.class, () -> get("a", snapshot));
    assertInstanceOf(StoreClosedException.class, closed.getCause());
  }

  @Test
  void anIteratorStandsBetweenEntries() throws IOException {
    put("a", "b", "c");
    try (DBIterator iterator = db.iterator()) {
      put("d");
      assertFalse(iterator.hasPrev());
      assertEquals(List.of(), rest(iterator, false));
      assertEquals("a", key(iterator, true));
      assertEquals("a", key(iterator, false));
      assertEquals(List.of("a", "b", "c"), rest(iterator, true));
      assertEquals(List.of("c", "b", "a"), rest(iterator, false));
      iterator.seekToLast();
      assertFalse(iterator.hasNext());
      assertEquals("c", key(iterator, false));
      assertEquals("c", key(iterator, true));
      iterator.seek(bytes("b"));
      assertTrue(iterator.hasPrev());
      assertEquals("b", key(iterator, true));
      iterator.seek(bytes("bb"));
      assertEquals(List.of("b", "a"), rest(iterator, false));
      iterator.seek(bytes("x"));
      assertFalse(iterator.hasNext());
      assertEquals("c", key(iterator, false));
      iterator.seek(bytes(""));
      assertEquals("a", key(iterator, true));
      iterator.seekToFirst();
      assertEquals(List.of("a", "b", "c"), rest(iterator, true));
      assertThrows(UnsupportedOperationException.class, iterator::remove);
      assertThrows(
          UnsupportedOperationException.class, () -> iterator.peekPrev().setValue(new byte[1]));
    }
  }

  @Test
  void anEmptyDatabaseHasNothingOnEitherSide() throws IOException {
    try (DBIterator iterator = db.iterator()) {
      for (Runnable seek :
          List.<Runnable>of(
              () -> {},
              iterator::seekToFirst,
              iterator::seekToLast,
              () -> iterator.seek(bytes("a")))) {
        seek.run();
        assertEquals(List.of(), rest(iterator, true));
        assertEquals(List.of(), rest(iterator, false));
      }
    }
  }

  @Test
  void theLongestKeyIsBeforeTheEnd() throws IOException {
    byte[] longest = new byte[65_535];
    Arrays.fill(longest, (byte) 0xff);
    db.put(longest, bytes("last"));
    try (DBIterator iterator = db.iterator()) {
      iterator.seekToLast();
      assertFalse(iterator.hasNext());
      assertEquals("last", asString(iterator.prev().getValue()));
    }
  }

  @Test
  void keysOutsideTheLimitsAreRefused() {
    byte[] value = bytes("1");
    for (byte[] key : List.of(new byte[0], new byte[65_536])) {
      for (Executable call :
          List.<Executable>of(
              () -> db.get(key),
              () -> db.put(key, value),
              () -> db.put(key, value, SYNC),
              () -> db.delete(key),
              () -> db.createWriteBatch().put(key, value),
              () -> db.createWriteBatch().delete(key))) {
        DBException refused = assertThrows(DBException.class, call);
        assertInstanceOf(LimitExceededException.class, refused.getCause());
      }
    }
    assertThrows(NullPointerException.class, () -> db.get(null));
    assertThrows(NullPointerException.class, () -> db.put(bytes("a"), null));
    assertThrows(NullPointerException.class, () -> db.createWriteBatch().delete(null));
  }

  @Test
  void sizesOfRangesAreEstimated() {
    for (int i = 100; i < 200; i++) {
      db.put(bytes("k" + i), new byte[10_000]);
    }
    db.compactRange(bytes("k"), null);
    long[] sizes =
        db.getApproximateSizes(
            new Range(bytes("k"), bytes("l")),
            new Range(bytes("k"), bytes("k150")),
            new Range(bytes("l"), bytes("m")),
            new Range(bytes("m"), bytes("k")),
            new Range(bytes(""), bytes("l")));
    assertTrue(sizes[0] > 0);
    assertEquals(0.5, (double) sizes[1] / sizes[0], 0.1);
    assertEquals(0, sizes[2]);
    assertEquals(0, sizes[3]);
    assertEquals(sizes[0], sizes[4]);
    assertEquals(0, db.getApproximateSizes().length);
  }

  @Test
  void someProperties() {
    put("a");
    db.compactRange(null, null);
    String stats = db.getProperty("leveldb.stats");
    assertTrue(stats.startsWith("Level  Files  Size(MB)\n"), stats);
    assertTrue(Long.parseLong(db.getProperty("leveldb.approximate-memory-usage")) >= 0);
    int files =
        IntStream.range(0, 7)
            .map(level -> Integer.parseInt(db.getProperty("leveldb.num-files-at-level" + level)))
            .sum();
    assertEquals(1, files);
    for (String unknown :
        List.of("leveldb.num-files-at-level7", "leveldb.num-files-at-level", "rocksdb.stats", "")) {
      assertNull(db.getProperty(unknown));
    }
  }

  @Test
  void compactionsCannotBeSuspended() {
    UnsupportedOperationException refused =
        assertThrows(UnsupportedOperationException.class, db::suspendCompactions);
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains("checkpoint"), message);
    db.resumeCompactions();
  }

  @Test
  void everyUseAfterCloseIsRefused() throws IOException {
    put("a", "b");
    Snapshot snapshot = db.getSnapshot();
    DBIterator fresh = db.iterator();
    DBIterator used = db.iterator();
    used.next();
    WriteBatch batch = db.createWriteBatch().put(bytes("a"), bytes("1"));
    db.close();
    db.close();
    for (Executable call :
        List.<Executable>of(
            () -> db.get(bytes("a")),
            () -> get("a", snapshot),
            () -> db.put(bytes("a"), bytes("1")),
            () -> db.put(bytes("a"), bytes("1"), SYNC),
            () -> db.delete(bytes("a")),
            () -> db.delete(bytes("a"), SYNC),
            () -> db.write(batch),
            () -> db.write(batch, SYNC),
            db::iterator,
            db::getSnapshot,
            () -> db.getApproximateSizes(new Range(bytes("a"), bytes("b"))),
            () -> db.getProperty("leveldb.stats"),
            () -> db.compactRange(null, null),
            fresh::hasNext,
            fresh::seekToFirst,
            used::next,
            used::hasPrev,
            used::prev,
            used::seekToLast)) {
      DBException closed = assertThrows(DBException.class, call);
      assertInstanceOf(StoreClosedException.class, closed.getCause());
    }
    fresh.close();
    used.close();
    snapshot.close();
  }

  @Test
  void aClosedIteratorIsRefused() throws IOException {
    put("a");
    DBIterator iterator = db.iterator();
    iterator.close();
    assertThrows(DBException.class, iterator::hasNext);
    assertThrows(DBException.class, iterator::next);
    assertThrows(DBException.class, iterator::seekToFirst);
  }
}
