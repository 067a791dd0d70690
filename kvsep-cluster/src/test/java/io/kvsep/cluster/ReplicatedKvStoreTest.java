package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Change;
import io.kvsep.ChangeFeed;
import io.kvsep.EntryInfo;
import io.kvsep.Keyspace;
import io.kvsep.KeyspaceView;
import io.kvsep.KvCursor;
import io.kvsep.KvEntry;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.ScanOptions;
import io.kvsep.Snapshot;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import io.kvsep.WriteBuffer;
import io.kvsep.error.ConflictException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The store of a group of three that use TLS; each test has a keyspace, and writes and reads on two
 * nodes.
 */
@Timeout(120)
final class ReplicatedKvStoreTest {
  @TempDir static Path directory;

  private static final ManualClock clock = new ManualClock(1_000_000);
  private static ClusterOptions.Tls tls;
  private static TestGroup group;
  private static KvStore one;
  private static KvStore other;

  private Keyspace keyspace;
  private KeyspaceView view;
  private KeyspaceView otherView;

  @BeforeAll
  static void start() throws Exception {
    tls = TestCertificate.create(directory);
    group = new TestGroup(directory, 3, options -> options.tls(tls).clock(clock));
    one = group.leader().store();
    other = group.follower().store();
  }

  @AfterAll
  static void stop() {
    group.close();
  }

  @BeforeEach
  void open(TestInfo test) {
    keyspace = one.keyspace(test.getDisplayName());
    view = one.in(keyspace);
    otherView = other.in(keyspace);
  }

  @Test
  void comparesAndSets() {
    assertFalse(view.compareAndSet(bytes("k"), bytes("v"), bytes("w")));
    assertTrue(view.compareAndSet(bytes("k"), null, bytes("v")));
    assertFalse(otherView.compareAndSet(bytes("k"), null, bytes("w")));
    assertTrue(otherView.compareAndSet(bytes("k"), bytes("v"), bytes("w")));
    assertArrayEquals(bytes("w"), view.get(bytes("k")));
    assertFalse(view.compareAndDelete(bytes("k"), bytes("v")));
    assertTrue(view.compareAndDelete(bytes("k"), bytes("w")));
    assertNull(otherView.get(bytes("k")));
  }

  @Test
  void concurrentCallsOfAllNodesAreAtomic() {
    List<CompletableFuture<Void>> threads = new ArrayList<>();
    for (ReplicatedStore node : group.nodes()) {
      KeyspaceView mine = node.store().in(keyspace);
      threads.add(
          CompletableFuture.runAsync(
              () -> {
                for (int i = 0; i < 5; i++) {
                  mine.increment(bytes("n"), 1);
                  mine.compute(
                      bytes("text"),
                      text -> bytes((text == null ? "" : new String(text, UTF_8)) + "x"));
                }
              },
              // The common pool may have one thread, which the group needs.
              call -> new Thread(call).start()));
    }
    threads.forEach(CompletableFuture::join);
    assertEquals(15, ByteBuffer.wrap(view.get(bytes("n"))).getLong());
    assertEquals("x".repeat(15), new String(otherView.get(bytes("text")), UTF_8));
    assertThrows(IllegalArgumentException.class, () -> view.increment(bytes("text"), 1));
    assertThrows(ArithmeticException.class, () -> view.increment(bytes("n"), Long.MAX_VALUE));
  }

  @Test
  void timesToLiveAreSeenOnAllNodes() {
    view.put(bytes("short"), bytes("v"), Duration.ofMillis(1));
    view.put(bytes("long"), bytes("v"), Duration.ofHours(1));
    assertArrayEquals(bytes("v"), otherView.get(bytes("short")));
    clock.advance(1);
    assertNull(otherView.get(bytes("short")));
    assertTrue(info(otherView, "long").expiresAtMillis().isPresent());
    assertTrue(otherView.expire(bytes("long"), Duration.ofMillis(1)));
    clock.advance(1);
    assertFalse(view.contains(bytes("long")));
    assertFalse(view.expire(bytes("long"), Duration.ofHours(1)));
    view.putUntil(bytes("past"), bytes("v"), 5);
    assertNull(view.get(bytes("past")));
  }

  /** What expires meanwhile is still there: else it would be compared as what was not read. */
  @Test
  void readsOfATransactionAreOfTheTimeWhenItBegan() {
    view.put(bytes("k"), bytes("v"), Duration.ofMillis(50));
    try (Transaction transaction = one.begin();
        WriteBuffer buffer = one.buffer()) {
      clock.advance(100);
      assertNull(view.get(bytes("k")));
      assertNull(buffer.in(keyspace).get(bytes("k")));
      KvView inside = transaction.in(keyspace);
      assertArrayEquals(bytes("v"), inside.get(bytes("k")));
      try (KvCursor cursor = inside.cursor()) {
        assertTrue(cursor.next());
      }
      inside.put(bytes("l"), bytes("v"));
      assertThrows(ConflictException.class, transaction::commit);
    }
  }

  @Test
  void transactionConflictsWithAChangeOfWhatItRead() {
    view.put(bytes("a"), bytes("1"));
    view.put(bytes("b"), bytes("1"));
    try (Transaction transaction = other.begin()) {
      KvView inside = transaction.in(keyspace);
      assertArrayEquals(bytes("1"), inside.get(bytes("a")));
      inside.put(bytes("b"), bytes("2"));
      assertArrayEquals(bytes("2"), inside.get(bytes("b")));
      view.put(bytes("a"), bytes("changed"));
      assertThrows(ConflictException.class, transaction::commit);
    }
    assertArrayEquals(bytes("1"), otherView.get(bytes("b")));
  }

  @Test
  void transactionConflictsWithAChangeInARangeItScanned() {
    view.put(bytes("a1"), bytes("1"));
    view.put(bytes("b1"), bytes("1"));
    assertFalse(conflicts(ScanOptions.prefix(bytes("a")), bytes("b2")));
    assertTrue(conflicts(ScanOptions.prefix(bytes("a")), bytes("a2")));
    assertTrue(conflicts(ScanOptions.prefix(bytes("a")).reverse(), bytes("a0")));
    assertTrue(conflicts(ScanOptions.all(), bytes("c")));
    assertFalse(conflicts(ScanOptions.all().limit(1), bytes("z")));
    assertFalse(conflicts(ScanOptions.all().limit(1).reverse(), bytes("a")));
    assertTrue(conflicts(ScanOptions.all().limit(1).reverse(), bytes("zz")));
  }

  private boolean conflicts(ScanOptions scan, byte[] written) {
    try (Transaction transaction = one.begin()) {
      transaction.in(keyspace).forEach(scan, (key, value) -> {});
      transaction.in(keyspace).put(bytes("result"), bytes("v"));
      otherView.put(written, bytes("1"));
      transaction.commit();
      return false;
    } catch (ConflictException e) {
      return true;
    } finally {
      view.delete(bytes("result"));
      view.delete(written);
    }
  }

  @Test
  void ownWritesAreNoReads() {
    try (Transaction transaction = one.begin()) {
      KvView inside = transaction.in(keyspace);
      inside.put(bytes("k"), bytes("v"));
      assertTrue(inside.contains(bytes("k")));
      inside.deleteRange(bytes("l"), bytes("m"));
      assertNull(inside.get(bytes("l1")));
      otherView.put(bytes("k"), bytes("w"));
      otherView.put(bytes("l1"), bytes("w"));
      transaction.commit();
      assertNotEquals(0, transaction.version());
      assertThrows(StoreClosedException.class, () -> inside.get(bytes("k")));
    }
    assertArrayEquals(bytes("v"), otherView.get(bytes("k")));
    assertNull(otherView.get(bytes("l1")));
  }

  @Test
  void rolledBackTransactionWritesNothing() {
    Transaction transaction = one.begin();
    transaction.in(keyspace).put(bytes("k"), bytes("v"));
    transaction.rollback();
    assertThrows(StoreClosedException.class, transaction::commit);
    transaction.close();
    assertThrows(
        IllegalStateException.class,
        () ->
            one.transact(
                failing -> {
                  failing.in(keyspace).put(bytes("k"), bytes("v"));
                  throw new IllegalStateException("not now");
                }));
    assertNull(view.get(bytes("k")));
  }

  /** One step is one call, or one transaction, of any node. */
  @Test
  void behavesAsAMap() {
    Seeds.some(ReplicatedKvStoreTest.class, 20, 1, this::runAgainstMap);
  }

  private void runAgainstMap(Random random) {
    view.deleteRange(bytes(""), bytes("z"));
    TreeMap<String, String> model = new TreeMap<>();
    List<KvStore> stores = group.nodes().stream().map(ReplicatedStore::store).toList();
    for (int step = 0; step < 30; step++) {
      KvStore store = stores.get(random.nextInt(stores.size()));
      if (random.nextInt(3) == 0) {
        change(random, store.in(keyspace), model);
      } else {
        store.<@Nullable Object>transact(
            transaction -> {
              for (int i = random.nextInt(4); i >= 0; i--) {
                change(random, transaction.in(keyspace), model);
                check(random, transaction.in(keyspace), model);
              }
              return null;
            });
      }
      check(random, stores.get(random.nextInt(stores.size())).in(keyspace), model);
    }
  }

  private static void change(Random random, KvView view, TreeMap<String, String> model) {
    String key = "k" + random.nextInt(6);
    switch (random.nextInt(4)) {
      case 0 -> {
        view.delete(bytes(key));
        model.remove(key);
      }
      case 1 -> {
        String end = key + "x";
        view.deleteRange(bytes(key), bytes(end));
        model.subMap(key, end).clear();
      }
      case 2 -> {
        view.compute(bytes(key), old -> old == null ? bytes("") : null);
        if (model.remove(key) == null) {
          model.put(key, "");
        }
      }
      default -> {
        String value = "v" + random.nextInt(3);
        view.put(bytes(key), bytes(value));
        model.put(key, value);
      }
    }
  }

  private static void check(Random random, KvView view, TreeMap<String, String> model) {
    if (random.nextBoolean()) {
      String key = "k" + random.nextInt(6);
      byte[] value = view.get(bytes(key));
      assertEquals(model.get(key), value == null ? null : new String(value, UTF_8));
    } else {
      TreeMap<String, String> found = new TreeMap<>();
      view.forEach(
          ScanOptions.all(),
          (key, value) -> found.put(new String(key, UTF_8), new String(value, UTF_8)));
      assertEquals(model, found);
    }
  }

  @Test
  void bufferIsOneBatch() {
    try (WriteBuffer buffer = one.buffer()) {
      buffer.in(keyspace).put(bytes("a"), bytes("1"));
      buffer.in(keyspace).increment(bytes("n"), 4);
      assertArrayEquals(bytes("1"), buffer.in(keyspace).get(bytes("a")));
      assertNull(otherView.get(bytes("a")));
      buffer.commit(new WriteBatch().in(keyspace).delete(bytes("n")));
      assertArrayEquals(bytes("1"), otherView.get(bytes("a")));
      assertNull(otherView.get(bytes("n")));
      assertEquals(0, buffer.bytes());
      buffer.in(keyspace).put(bytes("a"), bytes("2"));
      buffer.discard();
      buffer.commit();
      assertArrayEquals(bytes("1"), otherView.get(bytes("a")));
    }
  }

  @Test
  void snapshotAndCursorKeepTheirState() {
    view.put(bytes("a"), bytes("1"));
    view.put(bytes("b"), bytes("2"));
    try (Snapshot snapshot = other.snapshot();
        KvCursor cursor = otherView.cursor()) {
      view.deleteRange(bytes("a"), bytes("z"));
      assertNull(otherView.first());
      assertEquals(new KvEntry(bytes("a"), bytes("1")), snapshot.in(keyspace).first());
      assertTrue(cursor.next());
      assertTrue(cursor.next());
      assertArrayEquals(bytes("b"), cursor.key());
      assertFalse(cursor.next());
    }
  }

  @Test
  void snapshotKeepsAKeyspaceWhoseNameIsTaken() {
    view.put(bytes("k"), bytes("old"));
    try (Snapshot snapshot = one.snapshot()) {
      one.dropKeyspace(keyspace);
      Keyspace again = one.keyspace(keyspace.name());
      one.in(again).put(bytes("k"), bytes("new"));
      assertArrayEquals(bytes("old"), snapshot.in(keyspace).get(bytes("k")));
      assertArrayEquals(bytes("old"), snapshot.in(again).get(bytes("k")));
    }
  }

  @Test
  void changesHaveTheSameNumbersOnAllNodesAndGoOnAfterTheLeaderChanged() {
    long before = sequence(other);
    String leader = group.leader().nodeId();
    List<ChangeFeed> feeds = new ArrayList<>();
    for (ReplicatedStore node : group.nodes()) {
      feeds.add(node.store().changes(before));
    }
    for (int i = 0; i < 3; i++) {
      one.write(
          new WriteBatch()
              .in(keyspace)
              .put(bytes("k" + i), bytes("v"), Duration.ofHours(1))
              .delete(bytes("none")));
    }
    List<String> seen = null;
    List<Change> last = List.of();
    for (ChangeFeed feed : feeds) {
      last = read(feed, 6);
      List<String> texts = last.stream().map(ReplicatedKvStoreTest::text).toList();
      assertEquals(seen == null ? texts : seen, texts);
      seen = texts;
    }
    assertEquals(keyspace.name(), last.get(0).keyspace());
    assertTrue(last.get(5).endsCommit());

    group.leader().transferLeadership(group.follower().nodeId());
    assertNotEquals(leader, group.leader().nodeId());
    view.put(bytes("after"), bytes("v"));
    for (ReplicatedStore node : group.nodes()) {
      try (ChangeFeed feed = node.store().changes(last.get(3).sequence())) {
        List<Change> rest = read(feed, 3);
        assertEquals(text(last.get(4)), text(rest.get(0)));
        assertArrayEquals(bytes("after"), rest.get(2).key());
        assertTrue(sequence(node.store()) >= rest.get(2).sequence());
      }
    }
    feeds.forEach(ChangeFeed::close);
  }

  private static long sequence(KvStore store) {
    try (Snapshot snapshot = store.snapshot()) {
      return snapshot.sequence();
    }
  }

  private static List<Change> read(ChangeFeed feed, int count) {
    List<Change> changes = new ArrayList<>();
    while (changes.size() < count) {
      changes.add(Objects.requireNonNull(feed.poll(Duration.ofMinutes(1))));
    }
    return changes;
  }

  private static String text(Change change) {
    return change.sequence()
        + " "
        + change.kind()
        + " "
        + new String(change.key(), UTF_8)
        + " "
        + change.expiresAtMillis()
        + " "
        + change.endsCommit();
  }

  @Test
  void versionsAreThoseOfTheContentOnEveryNode() {
    long version = view.putVersioned(bytes("k"), bytes("v"));
    assertEquals(version, info(otherView, "k").version());
    otherView.put(bytes("k"), bytes("w"));
    assertNotEquals(version, info(view, "k").version());
    view.put(bytes("k"), bytes("v"), Duration.ofHours(1));
    assertEquals(version, info(otherView, "k").version());
    Transaction transaction = one.begin();
    transaction.in(keyspace).put(bytes("k"), bytes("x"));
    transaction.commit();
    assertEquals(transaction.version(), info(otherView, "k").version());
  }

  @Test
  void droppedKeyspaceIsGoneOnAllNodes() {
    view.put(bytes("k"), bytes("v"));
    other.dropKeyspace(keyspace);
    assertFalse(one.keyspaces().contains(keyspace.name()));
    assertThrows(IllegalStateException.class, () -> view.get(bytes("k")));
    assertThrows(IllegalStateException.class, () -> view.put(bytes("k"), bytes("v")));
    assertThrows(
        IllegalStateException.class,
        () -> one.write(new WriteBatch().in(keyspace).put(bytes("k"), bytes("v"))));
    other.dropKeyspace(keyspace);
    Keyspace again = one.keyspace(keyspace.name());
    assertNull(other.in(again).get(bytes("k")));
  }

  @Test
  void requestsHaveALimit() {
    view.put(bytes("k"), new byte[1_000_000]);
    assertThrows(LimitExceededException.class, () -> view.put(bytes("k"), new byte[(1 << 20) + 1]));
    assertArrayEquals(new byte[1_000_000], otherView.get(bytes("k")));
  }

  /** A member that has a certificate of its own alone, or none. */
  @Test
  void hostsWithoutATrustedCertificateAreRefused(@TempDir Path stranger) throws Exception {
    ClusterOptions.Tls own = TestCertificate.create(stranger);
    for (boolean secure : List.of(true, false)) {
      try (ReplicatedStore node = group.startStranger("x", stranger, secure ? own : null)) {
        assertThrows(ClusterException.class, () -> node.store().get(bytes("k")));
        assertEquals(-1, node.appliedIndex());
      }
    }
  }

  @Test
  void callsThatMakeNoSenseSaySo() {
    assertThrows(
        UnsupportedOperationException.class,
        () -> one.restore(new ByteArrayInputStream(new byte[0])));
    assertThrows(UnsupportedOperationException.class, () -> one.writeVersioned(new WriteBatch()));
    assertThrows(
        UnsupportedOperationException.class, () -> view.bulkLoad(Collections.emptyIterator()));
    assertFalse(one.tryWrite(new WriteBatch()));
    one.compact();
    assertTrue(one.verify().problems().isEmpty());
    assertThrows(IllegalArgumentException.class, () -> one.keyspace(GroupStore.SYSTEM));
  }

  private static EntryInfo info(KeyspaceView view, String key) {
    return Objects.requireNonNull(view.info(bytes(key)));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
