package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Durability;
import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoresOnStorage;
import io.kvsep.error.KvException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class GroupStoreTest {
  /** Longer than any wait in the histories, so that a clock that is looked at shows. */
  private static final long LATER_MILLIS = 10_000_000;

  @Test
  void contentDependsOnTheLogAlone() {
    Seeds.some(
        GroupStoreTest.class,
        300,
        3,
        random -> {
          List<byte[]> log = History.draw(random, 60);
          try (GroupStore one = inMemory(new ManualClock(1));
              GroupStore other = inMemory(new ManualClock(LATER_MILLIS))) {
            List<List<Answer>> expected = applyAll(one, log, 1, random);
            List<List<Answer>> answers = applyAll(other, log, 7, random);
            assertEquals(expected, answers);
            assertEquals(digests(one), digests(other));
          }
        });
  }

  /** Of a follower that stopped at any point and is given everything again. */
  @Test
  void entriesThatTheStoreHasAreSkipped() {
    Seeds.some(
        GroupStoreTest.class,
        300,
        3,
        random -> {
          List<byte[]> log = History.draw(random, 40);
          try (GroupStore once = inMemory(new ManualClock(1));
              GroupStore twice = inMemory(new ManualClock(1))) {
            applyAll(once, log, 3, random);
            applyAll(twice, log.subList(0, random.nextInt(log.size())), 3, random);
            applyAll(twice, log, 3, random);
            assertEquals(digests(once), digests(twice));
          }
        });
  }

  @Test
  void crashLeavesAPrefixWithItsIndex() {
    Seeds.some(GroupStoreTest.class, 200, 2, GroupStoreTest::crashAndReplay);
  }

  private static void crashAndReplay(Random random) throws Exception {
    List<byte[]> log = History.draw(random, 40);
    List<Map<String, String>> states = new ArrayList<>();
    try (GroupStore model = inMemory(new ManualClock(1))) {
      states.add(digests(model));
      for (int i = 0; i < log.size(); i++) {
        model.apply(1, i, LogEntry.decode(log.get(i)));
        model.commit();
        states.add(digests(model));
      }
    }
    CrashableStorage storage = new CrashableStorage();
    int reached = 0;
    while (reached < log.size()) {
      // Not closed: the power fails.
      GroupStore store = onStorage(storage, new ManualClock(LATER_MILLIS));
      int from = (int) store.committed().index() + 1;
      if (from > 0) {
        // Keyspaces change before the entry counts as applied; content does not.
        assertTrue(
            states.get(from).entrySet().containsAll(withoutEmpty(store)),
            "after " + from + " entries");
      }
      reached = Math.min(log.size(), reached + 1 + random.nextInt(10));
      for (int i = from; i < reached; i++) {
        store.apply(1, i, LogEntry.decode(log.get(i)));
        if (random.nextInt(3) == 0) {
          store.commit();
        }
        if (random.nextInt(8) == 0) {
          store.store().sync();
        }
      }
      CrashableStorage left = storage.crash(random);
      closeAfterCrash(store);
      storage = left;
    }
    try (GroupStore store = onStorage(storage, new ManualClock(1))) {
      applyAll(store, log, 4, random);
      assertEquals(states.get(log.size()), digests(store));
    }
  }

  private static void closeAfterCrash(GroupStore store) {
    try {
      store.close();
    } catch (KvException e) {
      // Its storage is gone.
    }
  }

  @Test
  void expiryIsDecidedByTheTimeOfTheEntry() throws Exception {
    ManualClock clock = new ManualClock(100);
    try (GroupStore store = inMemory(clock)) {
      RequestWriter put = new RequestWriter(1 << 20);
      put.put(null, bytes("k"), bytes("v"), Duration.ofMillis(50));
      apply(store, 0, 100, put);
      clock.advance(1_000);
      assertNull(
          GroupClock.<byte @Nullable []>at(GroupClock.WALL, () -> store.store().get(bytes("k"))),
          "readers see the wall clock");
      assertArrayEquals(bytes("v"), store.store().get(bytes("k")), "compaction does not");
      assertEquals(Answer.Status.CONFLICT, apply(store, 1, 149, absent("k")).status());
      assertEquals(Answer.Status.OK, apply(store, 2, 150, absent("k")).status());
    }
  }

  @Test
  void timeOfTheGroupNeverGoesBack() throws Exception {
    try (GroupStore store = inMemory(new ManualClock(1))) {
      RequestWriter put = new RequestWriter(1 << 20);
      put.put(null, bytes("k"), bytes("v"), Duration.ofMillis(50));
      apply(store, 0, 100, put);
      apply(store, 1, 200, new RequestWriter(1 << 20));
      assertEquals(Answer.Status.OK, apply(store, 2, 120, absent("k")).status());
    }
  }

  @Test
  void conditionsSeeEarlierRequestsOfTheSameEntry() throws Exception {
    try (GroupStore store = inMemory(new ManualClock(1))) {
      RequestWriter first = compare(null, "1");
      RequestWriter second = compare(null, "2");
      RequestWriter third = compare("1", "3");
      LogEntry entry =
          LogEntry.decode(
              History.entry(5, List.of(first.toBytes(), second.toBytes(), third.toBytes())));
      assertEquals(
          List.of(Answer.OK, Answer.of(Answer.Status.CONFLICT, ""), Answer.OK),
          store.apply(1, 0, entry));
      assertNull(store.store().get(bytes("k")), "not committed yet");
      store.commit();
      assertArrayEquals(bytes("3"), store.store().get(bytes("k")));
    }
  }

  @Test
  void longRangesAreNotRead() throws Exception {
    try (GroupStore store = inMemory(new ManualClock(1))) {
      store.store().put(bytes("a"), bytes("12"));
      store.store().put(bytes("b"), bytes("345"));
      assertEquals(2, range(store, 2, 7).count());
      assertEquals(3, range(store, 2, 6).count());
      assertEquals(2, range(store, 1, 7).count());
    }
  }

  private static ContentHash.Range range(GroupStore store, int entriesMax, long bytesMax) {
    try (KvCursor cursor = store.store().cursor()) {
      return ContentHash.ofRange(cursor, entriesMax, bytesMax);
    }
  }

  @Test
  void incrementsAnswerWithTheSum() throws Exception {
    try (GroupStore store = inMemory(new ManualClock(1))) {
      assertEquals(5, apply(store, 0, 1, increment(5)).number());
      assertEquals(3, apply(store, 1, 1, increment(-2)).number());
      assertEquals(Answer.Status.OVERFLOW, apply(store, 2, 1, increment(Long.MAX_VALUE)).status());
      RequestWriter put = new RequestWriter(1 << 20);
      put.put(null, bytes("n"), bytes("text"));
      apply(store, 3, 1, put);
      assertEquals(Answer.Status.NO_COUNTER, apply(store, 4, 1, increment(1)).status());
      assertArrayEquals(bytes("text"), store.store().get(bytes("n")));
    }
  }

  @Test
  void writeToAMissingKeyspaceWritesNothing() throws Exception {
    try (GroupStore store = inMemory(new ManualClock(1))) {
      RequestWriter put = new RequestWriter(1 << 20);
      put.put(null, bytes("k"), bytes("v"));
      put.put("missing", bytes("k"), bytes("v"));
      assertEquals(Answer.of(Answer.Status.NO_KEYSPACE, "missing"), apply(store, 0, 1, put));
      assertNull(store.store().get(bytes("k")));
    }
  }

  private static RequestWriter absent(String key) {
    RequestWriter request = new RequestWriter(1 << 20);
    request.absent(null, bytes(key));
    request.put(null, bytes("other"), bytes("v"));
    return request;
  }

  private static RequestWriter compare(@Nullable String expected, String value) {
    RequestWriter request = new RequestWriter(1 << 20);
    if (expected == null) {
      request.absent(null, bytes("k"));
    } else {
      request.valueIs(null, bytes("k"), ContentHash.ofValue(ByteBuffer.wrap(bytes(expected))));
    }
    request.put(null, bytes("k"), bytes(value));
    return request;
  }

  private static RequestWriter increment(long delta) {
    RequestWriter request = new RequestWriter(1 << 20);
    request.increment(null, bytes("n"), delta);
    return request;
  }

  private static Answer apply(GroupStore store, long index, long time, RequestWriter request)
      throws MalformedEntryException {
    LogEntry entry = LogEntry.decode(History.entry(time, List.of(request.toBytes())));
    List<Answer> answers = store.apply(1, index, entry);
    store.commit();
    return answers.get(0);
  }

  /** Commits after about so many entries. */
  private static List<List<Answer>> applyAll(
      GroupStore store, List<byte[]> log, int group, Random random) throws MalformedEntryException {
    List<List<Answer>> answers = new ArrayList<>();
    for (int i = 0; i < log.size(); i++) {
      answers.add(store.apply(1, i, LogEntry.decode(log.get(i))));
      if (random.nextInt(group) == 0) {
        store.commit();
      }
    }
    store.commit();
    return answers;
  }

  private static List<Map.Entry<String, String>> withoutEmpty(GroupStore store) {
    return digests(store).entrySet().stream()
        .filter(entry -> !entry.getValue().startsWith("0 "))
        .toList();
  }

  private static Map<String, String> digests(GroupStore store) {
    return store.digests();
  }

  private static GroupStore inMemory(ManualClock wall) throws MalformedEntryException {
    GroupClock clock = new GroupClock(wall);
    return new GroupStore(KvStore.inMemory(options(clock)), clock);
  }

  private static GroupStore onStorage(CrashableStorage storage, ManualClock wall)
      throws MalformedEntryException {
    GroupClock clock = new GroupClock(wall);
    return new GroupStore(StoresOnStorage.open(storage, options(clock)), clock);
  }

  private static KvOptions options(GroupClock clock) {
    return KvOptions.builder()
        .memoryBudgetBytes(16 << 20)
        .durability(Durability.none())
        .clock(clock)
        .build();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
