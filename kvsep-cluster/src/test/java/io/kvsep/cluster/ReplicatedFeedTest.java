package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Change;
import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.ScanOptions;
import io.kvsep.StoresOnStorage;
import io.kvsep.error.ChangesLostException;
import io.kvsep.error.KvException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** On stores without nodes: each applies the same entries in its own way. */
final class ReplicatedFeedTest {
  @Test
  void numbersDependOnTheLogAlone() {
    Seeds.some(
        ReplicatedFeedTest.class,
        300,
        3,
        random -> {
          List<byte[]> log = History.draw(random, 60);
          try (GroupStore one = open(new CrashableStorage());
              GroupStore other = open(new CrashableStorage())) {
            apply(one, log, 0, 1, random);
            apply(other, log, 0, 7, random);
            List<Change> changes = read(one, 0);
            assertEquals(texts(changes), texts(read(other, 0)));
            for (int i = 1; i < changes.size(); i++) {
              assertTrue(changes.get(i - 1).sequence() < changes.get(i).sequence());
            }
            assertEquals(content(one), replayed(changes));
            try (ReplicatedFeed feed = new ReplicatedFeed(() -> other, 0)) {
              Change first = feed.poll();
              assertEquals(changes.get(0).sequence(), first == null ? -1 : first.sequence());
            }
          }
        });
  }

  /** From any number that any node has given, also in the middle of an entry. */
  @Test
  void anyNodeGoesOnAfterAnyNumberOfAnother() {
    Seeds.some(
        ReplicatedFeedTest.class,
        200,
        2,
        random -> {
          List<byte[]> log = History.draw(random, 40);
          CrashableStorage storage = new CrashableStorage();
          try (GroupStore one = open(new CrashableStorage())) {
            apply(one, log, 0, 3, random);
            List<String> expected = texts(read(one, 0));
            List<Change> changes = read(one, 0);
            GroupStore other = open(storage);
            apply(other, log.subList(0, 20), 0, 4, random);
            other.store().sync();
            CrashableStorage left = storage.crash(random);
            closeAfterCrash(other);
            try (GroupStore again = open(left)) {
              // Without places at first: the feed begins at the oldest change and skips.
              apply(again, log, (int) again.committed().index() + 1, 4, random);
              for (int i = 0; i < changes.size(); i += 1 + random.nextInt(5)) {
                long number = changes.get(i).sequence();
                assertEquals(expected.subList(i + 1, expected.size()), texts(read(again, number)));
                assertEquals(expected.subList(i + 1, expected.size()), texts(read(one, number)));
              }
            }
          }
        });
  }

  @Test
  void aFeedGoesOnInTheStoreThatReplacedItsOwn() throws Exception {
    Random random = new Random(1);
    List<byte[]> log = History.draw(random, 60);
    try (GroupStore whole = open(new CrashableStorage());
        GroupStore next = open(new CrashableStorage())) {
      apply(whole, log, 0, 1, random);
      GroupStore first = open(new CrashableStorage());
      apply(first, log.subList(0, 25), 0, 3, random);
      AtomicReference<GroupStore> live = new AtomicReference<>(first);
      List<Change> changes = new ArrayList<>();
      try (ReplicatedFeed feed = new ReplicatedFeed(live::get, 0)) {
        readAll(feed, changes);
        apply(next, log, 0, 4, random);
        first.close();
        live.set(next);
        readAll(feed, changes);
      }
      assertEquals(texts(read(whole, 0)), texts(changes));
    }
  }

  @Test
  void lostChangesAreAnErrorAndNeverAGap() throws Exception {
    Random random = new Random(1);
    List<byte[]> log = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      log.add(put("k" + i));
    }
    try (GroupStore store = open(new CrashableStorage())) {
      apply(store, log.subList(0, 10), 0, 3, random);
      long before = ReplicatedFeed.after(4);
      ReplicatedFeed open = new ReplicatedFeed(() -> store, before);
      // Bypasses the log of the store, so nothing before it can be told any more.
      store.store().bulkLoad(List.of(Map.entry(bytes("z"), bytes("v"))).iterator());
      long reached = ReplicatedFeed.after(9);
      ChangesLostException lost =
          assertThrows(ChangesLostException.class, () -> new ReplicatedFeed(() -> store, before));
      assertEquals(before, lost.position());
      assertEquals(reached, lost.lostSequence());
      assertThrows(ChangesLostException.class, open::poll);
      assertThrows(ChangesLostException.class, open::poll);
      try (ReplicatedFeed feed = new ReplicatedFeed(() -> store, lost.lostSequence())) {
        assertNull(feed.poll());
        // An entry that changes nothing loses nothing.
        store.skip(1, 10);
        store.commit();
        assertNull(new ReplicatedFeed(() -> store, reached).poll());
        apply(store, log, 11, 3, random);
        List<Change> changes = new ArrayList<>();
        readAll(feed, changes);
        assertEquals(
            log.size() - 11L,
            changes.stream().filter(change -> change.value().length == 1).count());
        assertEquals(ReplicatedFeed.after(11), changes.get(0).sequence());
      }
    }
  }

  @Test
  void aBatchIsInARowAndItsLastChangeIsMarked() throws Exception {
    RequestWriter request = new RequestWriter(1 << 20);
    request.put(null, bytes("k"), bytes("1"));
    request.put(null, bytes("k"), bytes("2"));
    request.put(null, bytes("l"), bytes("3"), Duration.ofMillis(5));
    request.deleteRange(null, bytes("b"), bytes("a"));
    request.delete(null, bytes("m"));
    try (GroupStore store = open(new CrashableStorage())) {
      apply(store, List.of(entry(request)), 0, 1, new Random(1));
      List<Change> changes = read(store, 0);
      long next = ReplicatedFeed.after(0);
      assertEquals(
          List.of(
              "1 PUT 0 k=1 - false",
              "2 PUT 0 k=2 - false",
              "3 PUT 0 l=3 12 false",
              next + " DELETE 0 m=- - true"),
          texts(changes));
    }
  }

  @Test
  void whatIsNoFeedIsRefused() throws Exception {
    try (GroupStore store = open(new CrashableStorage())) {
      assertThrows(IllegalArgumentException.class, () -> new ReplicatedFeed(() -> store, 1));
      assertThrows(IllegalArgumentException.class, () -> new ReplicatedFeed(() -> store, -1));
      ReplicatedFeed feed = new ReplicatedFeed(() -> store, 0);
      assertNull(feed.poll(Duration.ZERO));
      assertThrows(IllegalArgumentException.class, () -> feed.poll(Duration.ofMillis(-1)));
      Thread.currentThread().interrupt();
      assertNull(feed.poll(Duration.ofDays(1_000_000)));
      assertTrue(Thread.interrupted());
      feed.close();
      feed.close();
      assertThrows(StoreClosedException.class, feed::poll);
    }
  }

  private static byte[] put(String key) {
    RequestWriter request = new RequestWriter(1 << 20);
    request.put(null, bytes(key), bytes("v"));
    return entry(request);
  }

  private static byte[] entry(RequestWriter request) {
    return History.entry(7, List.of(request.toBytes()));
  }

  /** Commits after about so many entries. */
  private static void apply(GroupStore store, List<byte[]> log, int from, int group, Random random)
      throws MalformedEntryException {
    for (int i = from; i < log.size(); i++) {
      store.apply(1, i, LogEntry.decode(log.get(i)));
      if (random.nextInt(group) == 0) {
        store.commit();
      }
    }
    store.commit();
  }

  private static List<Change> read(GroupStore store, long after) {
    List<Change> changes = new ArrayList<>();
    try (ReplicatedFeed feed = new ReplicatedFeed(() -> store, after)) {
      readAll(feed, changes);
    }
    return changes;
  }

  private static void readAll(ReplicatedFeed feed, List<Change> into) {
    for (Change change = feed.poll(); change != null; change = feed.poll()) {
      into.add(change);
    }
  }

  private static List<String> texts(List<Change> changes) {
    return changes.stream().map(ReplicatedFeedTest::text).toList();
  }

  private static String text(Change change) {
    String value =
        switch (change.kind()) {
          case PUT -> text(change.value());
          case DELETE -> "-";
          case DELETE_RANGE -> {
            byte[] to = change.toKey();
            yield to == null ? "end" : text(to);
          }
        };
    String expiry =
        change.expiresAtMillis().isPresent() ? "" + change.expiresAtMillis().getAsLong() : "-";
    return change.sequence()
        + " "
        + change.kind()
        + " "
        + (change.keyspaceId() == 0 ? "0" : change.keyspaceId())
        + " "
        + text(change.key())
        + "="
        + value
        + " "
        + expiry
        + " "
        + change.endsCommit();
  }

  private static String text(byte[] bytes) {
    return bytes.length == Long.BYTES ? HexFormat.of().formatHex(bytes) : new String(bytes, UTF_8);
  }

  /** The store's own keyspace, whenever its entries expire. */
  private static TreeMap<String, String> replayed(List<Change> changes) {
    TreeMap<String, String> content = new TreeMap<>();
    for (Change change : changes) {
      if (change.keyspaceId() != 0) {
        continue;
      }
      String key = text(change.key());
      switch (change.kind()) {
        case PUT -> content.put(key, text(change.value()));
        case DELETE -> content.remove(key);
        case DELETE_RANGE -> {
          byte[] to = change.toKey();
          (to == null ? content.tailMap(key) : content.subMap(key, text(to))).clear();
        }
      }
    }
    return content;
  }

  private static TreeMap<String, String> content(GroupStore store) {
    TreeMap<String, String> content = new TreeMap<>();
    GroupClock.<Void>at(
        1,
        () -> {
          store
              .store()
              .forEach(ScanOptions.all(), (key, value) -> content.put(text(key), text(value)));
          return null;
        });
    return content;
  }

  private static GroupStore open(CrashableStorage storage) throws MalformedEntryException {
    GroupClock clock = new GroupClock(new ManualClock(1));
    KvOptions options =
        KvOptions.builder()
            .memoryBudgetBytes(16 << 20)
            .durability(Durability.none())
            .clock(clock)
            .build();
    return new GroupStore(StoresOnStorage.open(storage, options), clock);
  }

  private static void closeAfterCrash(GroupStore store) {
    try {
      store.close();
    } catch (KvException e) {
      // Its storage is gone.
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
