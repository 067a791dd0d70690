package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many keyspaces at once, and estimates of what they and ranges of them hold. */
final class KeyspaceSizesTest {
  private static final int ENTRIES = 40_000;

  @TempDir Path folder;

  private KvStore open(String name) {
    return KvStore.open(
        folder.resolve(name),
        KvOptions.builder().memoryBudgetBytes(16 << 20).durability(Durability.none()).build());
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  @Test
  void manyKeyspacesAreMadeWithOneEdit() {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      names.add("name-" + i % 250);
    }
    List<Keyspace> made;
    try (KvStore store = open("store")) {
      Keyspace first = store.keyspace("name-7");
      long before = store.stats().deviceBytesWritten();
      made = store.keyspaces(names);
      assertEquals(names, made.stream().map(Keyspace::name).toList());
      assertEquals(250, store.keyspaces().size());
      assertEquals(first, made.get(7));
      assertEquals(made.get(0), made.get(250));
      assertEquals(made, store.keyspaces(names));
      assertEquals(List.of(), store.keyspaces(List.of()));
      assertTrue(store.stats().deviceBytesWritten() - before < 20_000);
      store.in(made.get(240)).put(key(1), key(2));
      store.dropKeyspace(made.get(3));
      Keyspace again = store.keyspaces(List.of("name-3", "name-4")).get(0);
      assertTrue(again.id() > made.get(299).id());
    }
    try (KvStore store = open("store")) {
      assertEquals(250, store.keyspaces().size());
      assertEquals(made.get(240).id(), store.keyspace("name-240").id());
      assertEquals(new KvEntry(key(1), key(2)), store.in(store.keyspace("name-240")).first());
    }
  }

  @Test
  void oneWrongNameMakesNoKeyspace() {
    try (KvStore store = open("store")) {
      for (String wrong : List.of("", "n".repeat(256), "\ud800")) {
        assertThrows(
            IllegalArgumentException.class, () -> store.keyspaces(List.of("right", wrong)));
      }
      assertThrows(NullPointerException.class, () -> store.keyspaces(Arrays.asList("right", null)));
      assertEquals(List.of(), store.keyspaces());
    }
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore store = KvStore.open(folder.resolve("store"), reading)) {
      assertEquals(List.of(), store.keyspaces(List.of()));
      assertThrows(ReadOnlyStoreException.class, () -> store.keyspaces(List.of("right")));
    }
  }

  @Test
  void fewEntriesAreCountedExactly() {
    try (KvStore store = open("store")) {
      Keyspace named = store.keyspace("named");
      KeyspaceView view = store.in(named);
      assertEquals(new KeyspaceStats(0, 0, 0), store.stats(named));
      for (int i = 0; i < 300; i++) {
        view.put(key(i), new byte[100]);
        view.put(key(i), new byte[100]);
        store.put(key(i), new byte[100]);
      }
      view.delete(key(7));
      assertEquals(new KeyspaceStats(299, 4 * 299, 100 * 299), store.stats(named));
      assertEquals(299, view.approximateCount(null, null));
      assertEquals(104 * 299, view.approximateBytes(null, null));
      assertEquals(99, view.approximateCount(key(0), key(100)));
      assertEquals(0, view.approximateCount(key(100), key(100)));
      assertEquals(0, view.approximateCount(key(200), key(100)));
      assertEquals(300, store.approximateCount(null, null));
      view.deleteRange(key(100), key(200));
      assertEquals(199, view.approximateCount(null, null));
      store.compact();
      assertEquals(199, view.approximateCount(null, null));
      assertEquals(300, store.approximateCount(null, null));
      assertEquals(51, view.approximateCount(key(49), key(150)));
      for (int i = 0; i < 299; i++) {
        assertEquals(i, store.approximateCount(null, key(i)));
        assertEquals(300 - i, store.approximateCount(key(i), null));
        assertEquals(1, store.approximateCount(key(i), key(i + 1)));
      }
    }
  }

  @Test
  void aWholeDeletedRangeCountsNothingBeforeCompactionToo() {
    try (KvStore store = open("store")) {
      for (int i = 0; i < 5_000; i++) {
        store.put(key(i), new byte[400]);
      }
      store.flush();
      assertEquals(5_000, store.approximateCount(null, null));
      store.deleteRange(new byte[0], key(6_000));
      assertEquals(0, store.approximateCount(null, null));
      assertEquals(0, store.approximateBytes(null, null));
      store.flush();
      assertEquals(0, store.approximateCount(null, null));
    }
  }

  @Test
  void readersOfEveryKindEstimate() {
    try (KvStore store = open("store")) {
      Keyspace named = store.keyspace("named");
      for (int i = 0; i < 100; i++) {
        store.in(named).put(key(i), key(i));
      }
      try (Snapshot snapshot = store.snapshot();
          Transaction transaction = store.begin();
          WriteBuffer buffer = store.buffer()) {
        assertEquals(100, snapshot.in(named).approximateCount(null, null));
        transaction.in(named).put(key(100), key(0));
        transaction.in(named).put(key(101), key(0));
        transaction.in(named).delete(key(5));
        assertEquals(101, transaction.in(named).approximateCount(null, null));
        assertEquals(6, transaction.in(named).approximateCount(key(95), key(101)));
        store.in(named).put(key(200), key(0));
        transaction.commit();
        buffer.in(named).put(key(300), key(0));
        assertEquals(102 + 1, buffer.in(named).approximateCount(null, null));
        assertEquals(8 * 103, buffer.in(named).approximateBytes(null, null));
      }
      store.dropKeyspace(named);
      assertThrows(IllegalStateException.class, () -> store.stats(named));
    }
  }

  /** After everything was compacted, only the blocks at the bounds are guessed. */
  @Test
  void estimatesAreNearTheTruth() {
    Seeds.each(KeyspaceSizesTest.class, 2, this::estimate);
  }

  private void estimate(Random random) throws Exception {
    Path directory = Files.createTempDirectory(folder, "store");
    TreeSet<Integer> model = new TreeSet<>();
    try (KvStore store = open(directory.getFileName().toString())) {
      Keyspace named = store.keyspaces(List.of("first", "named")).get(1);
      KeyspaceView view = store.in(named);
      List<Integer> numbers = new ArrayList<>();
      for (int i = 0; i < ENTRIES; i++) {
        numbers.add(random.nextInt(Integer.MAX_VALUE));
      }
      Collections.shuffle(numbers, random);
      for (int number : numbers) {
        view.put(key(number), new byte[number % 3 == 0 ? 300 : 30]);
        store.put(key(number), new byte[10]);
        model.add(number);
      }
      // In memtables a sample is counted.
      check(view, model, random, ENTRIES / 10);
      store.compact();
      check(view, model, random, ENTRIES / 20);
      KeyspaceStats stats = store.stats(named);
      assertNear(model.size(), stats.entriesEstimate(), ENTRIES / 20);
      assertNear(4L * model.size(), stats.keyBytes(), ENTRIES / 5);
    }
  }

  private static void check(KvReader reader, TreeSet<Integer> model, Random random, int error) {
    assertNear(model.size(), reader.approximateCount(null, null), error);
    for (int i = 0; i < 50; i++) {
      Integer from = random.nextInt(6) == 0 ? null : random.nextInt(Integer.MAX_VALUE);
      Integer to = random.nextInt(6) == 0 ? null : random.nextInt(Integer.MAX_VALUE);
      int first = from == null ? 0 : from;
      int limit = to == null ? Integer.MAX_VALUE : to;
      int expected = first < limit ? model.subSet(first, limit).size() : 0;
      assertNear(expected, reader.approximateCount(bound(from), bound(to)), error);
    }
  }

  private static void assertNear(long expected, long estimate, long error) {
    assertTrue(Math.abs(estimate - expected) <= error, () -> expected + " but " + estimate);
  }

  private static byte @Nullable [] bound(@Nullable Integer number) {
    return number == null ? null : key(number);
  }
}
