package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Change.Kind;
import io.kvsep.error.ChangesLostException;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Change feeds by the public calls, on a real disk. */
final class ChangeFeedTest {
  private static final Duration AT_MOST = Duration.ofSeconds(30);

  @TempDir Path folder;

  private KvStore open(long retentionBytes) {
    return open(retentionBytes, Durability.none());
  }

  private KvStore open(long retentionBytes, Durability durability) {
    KvOptions options =
        KvOptions.builder()
            .memoryBudgetBytes(16 << 20)
            .segmentBytes(1 << 20)
            .durability(durability)
            .changeRetentionBytes(retentionBytes)
            .build();
    return KvStore.open(folder.resolve("store"), options);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static byte[] random(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static List<Change> drain(ChangeFeed feed) {
    List<Change> all = new ArrayList<>();
    for (Change change = feed.poll(); change != null; change = feed.poll()) {
      all.add(change);
    }
    return all;
  }

  private static List<Change> after(KvStore store, long sequence) {
    try (ChangeFeed feed = store.changes(sequence)) {
      return drain(feed);
    }
  }

  private static List<String> texts(List<Change> changes) {
    List<String> texts = new ArrayList<>();
    for (Change change : changes) {
      String range = change.kind() == Kind.DELETE_RANGE ? ".." + text(change.toKey()) : "";
      String value = change.kind() == Kind.PUT ? "=" + text(change.value()) : "";
      String space = change.keyspaceId() == 0 ? "" : " in " + change.keyspace();
      String end = change.endsCommit() ? "." : ",";
      texts.add(change.kind() + " " + text(change.key()) + range + value + space + end);
    }
    return texts;
  }

  private static String text(byte @Nullable [] bytes) {
    return bytes == null ? "end" : new String(bytes, UTF_8);
  }

  @Test
  void everyKindOfChangeComesInItsOrderWithItsCommit() {
    try (KvStore store = open(0);
        ChangeFeed feed = store.changes(0)) {
      assertNull(feed.poll());
      Keyspace space = store.keyspace("space");
      store.put(bytes("a"), bytes("1"));
      store.in(space).put(bytes("a"), bytes("2"));
      store.delete(bytes("a"));
      WriteBatch batch = new WriteBatch();
      batch.put(bytes("b"), bytes(""));
      batch.deleteRange(bytes("b"), bytes("d"));
      batch.in(space).put(bytes("c"), bytes("3"));
      store.write(batch);
      store.in(space).deleteRange(bytes("x"), bytes("y"));
      store.deleteRange(bytes("f"), bytes("k"));
      store.increment(bytes("count"), 5);
      store.transact(
          transaction -> {
            transaction.put(bytes("t"), bytes("4"));
            transaction.delete(bytes("u"));
            return true;
          });
      assertTrue(store.compareAndSet(bytes("n"), null, bytes("5")));
      assertFalse(store.compareAndSet(bytes("n"), null, bytes("6")));
      store.sync();
      List<Change> changes = drain(feed);
      Change count = changes.remove(8);
      assertArrayEquals(bytes("count"), count.key());
      assertEquals(
          List.of(
              "PUT a=1.",
              "PUT a=2 in space.",
              "DELETE a.",
              "PUT b=,",
              "DELETE_RANGE b..d,",
              "PUT c=3 in space.",
              "DELETE_RANGE x..y in space.",
              "DELETE_RANGE f..k.",
              "PUT t=4,",
              "DELETE u.",
              "PUT n=5."),
          texts(changes));
      changes.add(8, count);
      for (int i = 1; i < changes.size(); i++) {
        assertTrue(changes.get(i).sequence() > changes.get(i - 1).sequence());
      }
      assertThrows(IllegalStateException.class, () -> changes.get(2).value());
      assertThrows(IllegalStateException.class, () -> changes.get(2).toKey());
      for (int i = 0; i < changes.size(); i++) {
        List<String> rest = texts(changes.subList(i + 1, changes.size()));
        assertEquals(rest, texts(after(store, changes.get(i).sequence())), "after change " + i);
      }
    }
  }

  @Test
  void valuesOfAllLengthsComeAsTheyWereGivenWithTheirEnd() {
    try (KvStore store = open(100 << 20)) {
      List<byte[]> values = new ArrayList<>();
      for (int length : new int[] {0, 1, 300, 1_500, 70_000, 300_000, 1_200_000, 5_000_000}) {
        values.add(random(length, length));
        values.add(new byte[length]);
      }
      for (int round = 0; round < 2; round++) {
        for (byte[] value : values) {
          store.put(bytes("key"), value, Duration.ofDays(1));
          store.put(bytes("key"), value);
        }
        WriteBatch batch = new WriteBatch();
        for (byte[] value : values) {
          batch.put(bytes("batched"), value);
        }
        store.write(batch);
        List<Change> changes = after(store, 0);
        assertEquals((round + 1) * 3 * values.size(), changes.size());
        for (int i = 0; i < changes.size(); i++) {
          int inRound = i % (3 * values.size());
          boolean batched = inRound >= 2 * values.size();
          int which = batched ? inRound - 2 * values.size() : inRound / 2;
          assertArrayEquals(values.get(which), changes.get(i).value(), "change " + i);
          OptionalLong end = changes.get(i).expiresAtMillis();
          assertEquals(!batched && inRound % 2 == 0, end.isPresent(), "change " + i);
          assertEquals(
              !batched || which == values.size() - 1, changes.get(i).endsCommit(), "change " + i);
        }
        store.flush();
      }
    }
  }

  @Test
  void aChangeIsGivenOnceItIsDurable() {
    try (KvStore store = open(0);
        ChangeFeed feed = store.changes(0)) {
      store.put(bytes("a"), bytes("1"));
      assertNull(feed.poll());
      store.put(bytes("b"), bytes("2"));
      store.sync();
      store.put(bytes("c"), bytes("3"));
      assertEquals(List.of("PUT a=1.", "PUT b=2."), texts(drain(feed)));
      WriteBatch batch = new WriteBatch();
      batch.put(bytes("d"), bytes("4"));
      store.write(batch, Durability.sync());
      assertEquals(List.of("PUT c=3.", "PUT d=4."), texts(drain(feed)));
      store.put(bytes("e"), bytes("5"));
      // Opening one makes what was committed before it durable.
      assertEquals(List.of("PUT e=5."), texts(after(store, 4)));
      assertEquals(List.of("PUT e=5."), texts(drain(feed)));
    }
  }

  @Test
  void aBatchWithAnIntervalOfItsOwnBecomesDurableByItself() {
    try (KvStore store = open(0);
        ChangeFeed feed = store.changes(0)) {
      store.put(bytes("a"), bytes("1"));
      store.write(
          new WriteBatch().put(bytes("b"), bytes("2")), Durability.async(Duration.ofMillis(5)));
      Change first = feed.poll(AT_MOST);
      Change second = feed.poll(AT_MOST);
      assertEquals(List.of("PUT a=1.", "PUT b=2."), texts(List.of(first, second)));
    }
  }

  @Test
  void whoWaitsGetsWhatComesAndAnInterruptEndsTheWait() throws Exception {
    try (KvStore store = open(0, Durability.sync());
        ChangeFeed feed = store.changes(0)) {
      CompletableFuture<Change> waiting = CompletableFuture.supplyAsync(() -> feed.poll(AT_MOST));
      store.put(bytes("a"), bytes("1"));
      assertEquals(List.of("PUT a=1."), texts(List.of(waiting.get(60, TimeUnit.SECONDS))));
      assertNull(feed.poll(Duration.ZERO));
      assertNull(feed.poll(Duration.ofMillis(3)));
      Thread.currentThread().interrupt();
      assertNull(feed.poll(AT_MOST));
      assertTrue(Thread.interrupted());
      assertThrows(IllegalArgumentException.class, () -> feed.poll(Duration.ofMillis(-1)));
    }
  }

  @Test
  void aFeedGoesOnAfterTheNextOpenAndInACheckpoint() {
    long middle;
    List<String> all;
    try (KvStore store = open(100 << 20)) {
      IntStream.range(0, 500).forEach(i -> store.put(bytes("k" + i), random(5_000, i)));
      List<Change> changes = after(store, 0);
      middle = changes.get(250).sequence();
      all = texts(changes);
      assertEquals(500, all.size());
      store.compact();
      store.checkpoint(folder.resolve("copy"));
      assertEquals(all, texts(after(store, 0)));
    }
    try (KvStore store = open(100 << 20)) {
      assertEquals(all.subList(251, 500), texts(after(store, middle)));
      store.put(bytes("later"), bytes("1"));
      assertEquals(List.of("PUT later=1."), texts(after(store, 500)));
    }
    KvOptions options = KvOptions.builder().segmentBytes(1 << 20).build();
    try (KvStore copy = KvStore.open(folder.resolve("copy"), options)) {
      copy.put(bytes("other"), bytes("2"));
      assertEquals(List.of("PUT other=2."), texts(after(copy, 500)));
    }
  }

  @Test
  void whatIsNotKeptIsAnErrorAndNeverAGap() {
    try (KvStore store = open(0);
        ChangeFeed slow = store.changes(0)) {
      store.put(bytes("first"), bytes("1"));
      store.sync();
      assertNotNull(slow.poll());
      for (int i = 0; i < 3_000; i++) {
        store.put(bytes("k" + i % 10), random(2_000, i));
      }
      store.reclaim();
      ChangesLostException lost = assertThrows(ChangesLostException.class, slow::poll);
      assertEquals(1, lost.position());
      assertTrue(lost.lostSequence() > 1, lost::getMessage);
      assertThrows(ChangesLostException.class, slow::poll);
      assertThrows(ChangesLostException.class, () -> store.changes(0));
      long last = store.snapshot().sequence();
      try (ChangeFeed feed = store.changes(lost.lostSequence())) {
        assertEquals(last - lost.lostSequence(), drain(feed).size());
        store.put(bytes("k"), bytes("2"));
        store.flush();
        store.compact();
        store.put(bytes("l"), bytes("3"));
        store.sync();
        List<String> rest = texts(drain(feed));
        assertEquals("PUT l=3.", rest.get(rest.size() - 1));
      } catch (ChangesLostException e) {
        assertTrue(e.lostSequence() <= last + 1, e::getMessage);
      }
    }
    try (KvStore store = open(0)) {
      assertThrows(ChangesLostException.class, () -> store.changes(1));
    }
  }

  @Test
  void soMuchOfTheLogIsKeptAsOneAsksFor() {
    int retention = 6 << 20;
    try (KvStore store = open(retention)) {
      for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 12_000; i++) {
          store.put(bytes("k" + i % 10), random(2_000, i));
        }
        store.reclaim();
        long last = store.snapshot().sequence();
        List<Change> kept = after(store, last - retention / 2_100);
        assertEquals(retention / 2_100, kept.size());
        long bytes = store.stats().logBytes();
        assertTrue(bytes > retention && bytes < retention + (4 << 20), () -> bytes + " bytes");
        assertEquals(0, store.stats().stalls());
        assertThrows(ChangesLostException.class, () -> store.changes(last - 10_000));
      }
      assertTrue(store.verify().isSound());
    }
    try (KvStore store = open(retention)) {
      long last = store.snapshot().sequence();
      assertEquals(retention / 2_100, after(store, last - retention / 2_100).size());
    }
    try (KvStore store = open(0)) {
      store.reclaim();
      assertTrue(store.stats().logBytes() < 1 << 20, () -> store.stats().toString());
    }
  }

  @Test
  void aBulkLoadEndsFeedsOfBefore() {
    try (KvStore store = open(100 << 20);
        ChangeFeed before = store.changes(0)) {
      store.put(bytes("a"), bytes("1"));
      store.bulkLoad(List.of(Map.entry(bytes("b"), bytes("2"))).iterator());
      store.put(bytes("c"), bytes("3"));
      store.sync();
      ChangesLostException lost = assertThrows(ChangesLostException.class, before::poll);
      assertEquals(List.of("PUT c=3."), texts(after(store, lost.lostSequence())));
      try (ChangeFeed feed = store.changes(store.snapshot().sequence())) {
        store.bulkLoad(List.of(Map.entry(bytes("d"), bytes("4"))).iterator());
        assertThrows(ChangesLostException.class, feed::poll);
      }
    }
    try (KvStore store = open(100 << 20)) {
      assertThrows(ChangesLostException.class, () -> store.changes(0));
    }
  }

  @Test
  void aKeyspaceThatIsGoneHasNoName() {
    try (KvStore store = open(100 << 20)) {
      Keyspace space = store.keyspace("space");
      store.keyspace("other");
      store.in(space).put(bytes("a"), bytes("1"));
      Change before = after(store, 0).get(0);
      assertEquals("space", before.keyspace());
      store.dropKeyspace(space);
      Keyspace again = store.keyspace("space");
      store.in(again).put(bytes("b"), bytes("2"));
      List<Change> changes = after(store, 0);
      assertEquals(
          List.of("PUT a=1 in null.", "DELETE_RANGE ..end in null.", "PUT b=2 in space."),
          texts(changes));
      assertEquals(before.keyspaceId(), changes.get(0).keyspaceId());
      assertEquals(before.keyspaceId(), changes.get(1).keyspaceId());
      assertTrue(changes.get(2).keyspaceId() > before.keyspaceId());
    }
  }

  @Test
  void aFollowerOfManyWritersEndsUpWithWhatTheyWrote() throws Exception {
    int writers = 4;
    try (KvStore store = open(1L << 30, Durability.async(Duration.ofMillis(5)));
        ChangeFeed feed = store.changes(0)) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < writers; i++) {
        int number = i;
        threads.add(new Thread(() -> write(store, number)));
      }
      threads.forEach(Thread::start);
      TreeMap<String, String> replica = new TreeMap<>();
      int ends = 0;
      long last = 0;
      List<String> commit = new ArrayList<>();
      while (ends < writers) {
        Change change = feed.poll(AT_MOST);
        assertNotNull(change);
        assertTrue(change.sequence() > last);
        last = change.sequence();
        String key = text(change.key());
        commit.add(key.substring(0, 1));
        if (change.kind() == Kind.PUT) {
          replica.put(key, change.value().length + ":" + Arrays.hashCode(change.value()));
        } else {
          replica.remove(key);
        }
        if (change.endsCommit()) {
          assertEquals(1, new HashSet<>(commit).size(), "writes of two commits in one");
          assertTrue(commit.size() == 1 || commit.size() == 3, commit::toString);
          commit.clear();
          ends += key.endsWith("end") ? 1 : 0;
        }
      }
      for (Thread thread : threads) {
        thread.join();
      }
      TreeMap<String, String> found = new TreeMap<>();
      try (KvCursor cursor = store.cursor()) {
        while (cursor.next()) {
          byte[] value = cursor.value();
          found.put(text(cursor.key()), value.length + ":" + Arrays.hashCode(value));
        }
      }
      assertEquals(found, replica);
    }
  }

  private static void write(KvStore store, int writer) {
    Random random = new Random(writer);
    for (int i = 0; i < 2_000; i++) {
      byte[] key = bytes(writer + "-" + random.nextInt(50));
      if (random.nextInt(4) == 0) {
        store.delete(key);
      } else if (random.nextInt(4) == 0) {
        WriteBatch batch = new WriteBatch();
        for (int j = 0; j < 3; j++) {
          batch.put(bytes(writer + "-" + random.nextInt(50)), random(random.nextInt(300), i));
        }
        store.write(batch);
      } else {
        store.put(key, random(random.nextInt(3_000), i));
      }
    }
    store.put(bytes(writer + "end"), new byte[1]);
  }

  @Test
  void damageIsAnErrorWithItsPlaceBehindWhatIsSound() throws IOException {
    try (KvStore store = open(100 << 20)) {
      IntStream.range(0, 100).forEach(i -> store.put(bytes("k" + i), random(500, i)));
      store.flush();
    }
    Path file = folder.resolve("store").resolve("000001.vlog");
    try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
      bytes.seek(Files.size(file) / 2);
      int old = bytes.read();
      bytes.seek(Files.size(file) / 2);
      bytes.write(old ^ 1);
    }
    try (KvStore store = open(100 << 20);
        ChangeFeed feed = store.changes(0)) {
      for (int i = 0; i < 40; i++) {
        assertNotNull(feed.poll());
      }
      CorruptionException damage = assertThrows(CorruptionException.class, () -> drain(feed));
      assertEquals("000001.vlog", damage.file());
      assertEquals(damage.offset(), assertThrows(CorruptionException.class, feed::poll).offset());
    }
  }

  /** A follower leaves out what has no name, and would not come back to it. */
  @Test
  void aKeyspaceHasItsNameAsLongAsDroppingItMayFail() {
    CrashableStorage storage = new CrashableStorage();
    List<Change> meanwhile = new ArrayList<>();
    try (KvStore store = new OpenStore(Engines.open(storage, new ManualScheduler(1, 1)))) {
      Keyspace space = store.keyspace("space");
      store.in(space).put(bytes("a"), bytes("1"));
      store.sync();
      ChangeFeed feed = store.changes(0);
      storage.failAt(
          1,
          Fault.EIO,
          /* sticky= */ false,
          (operation, name) -> {
            boolean deletes = operation == Operation.WRITE && name.endsWith(".vlog");
            if (deletes) {
              meanwhile.addAll(drain(feed));
            }
            return deletes;
          });
      assertThrows(StorageException.class, () -> store.dropKeyspace(space));
      assertEquals(List.of("PUT a=1 in space."), texts(meanwhile));
      assertArrayEquals(bytes("1"), store.in(space).get(bytes("a")));

      store.dropKeyspace(space);
      assertEquals(
          List.of("PUT a=1 in null.", "DELETE_RANGE ..end in null."), texts(after(store, 0)));
    }
  }

  @Test
  void whatCannotBeAFeedIsRefused() {
    ChangeFeed left;
    try (KvStore store = open(0)) {
      store.put(bytes("a"), bytes("1"));
      assertThrows(IllegalArgumentException.class, () -> store.changes(2));
      assertThrows(IllegalArgumentException.class, () -> store.changes(-1));
      ChangeFeed closed = store.changes(1);
      closed.close();
      closed.close();
      assertThrows(StoreClosedException.class, closed::poll);
      left = store.changes(0);
      assertNotNull(left.poll());
    }
    assertThrows(StoreClosedException.class, left::poll);
    KvOptions options = KvOptions.builder().readOnly(true).build();
    try (KvStore store = KvStore.open(folder.resolve("store"), options)) {
      assertThrows(ReadOnlyStoreException.class, () -> store.changes(0));
    }
  }
}
