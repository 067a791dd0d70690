package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.compaction.CompactionFixture.Item;
import io.kvsep.internal.compaction.CompactionFixture.Range;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** What flushes and compactions make of deleted ranges. */
final class RangeCompactionTest {
  private static final long NOW = 1_000_000;
  private static final long VALUE_BYTES = 5_000;

  @Test
  void noReaderSeesADifferenceAndTablesStayApart() {
    Seeds.run(getClass(), "noReaderSeesADifferenceAndTablesStayApart", 1, 150, this::compact);
  }

  /** Tables in levels 6, 5 and 0, the newest on top; then one compaction after the other. */
  private void compact(long seed) {
    Random random = new Random(seed);
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> all = new ArrayList<>();
      List<Range> ranges = new ArrayList<>();
      long sequence = fill(store, random, all, ranges);
      TreeSet<Long> readers = new TreeSet<>(Set.of(sequence));
      for (int i = random.nextInt(4); i > 0; i--) {
        readers.add(random.nextLong(sequence));
      }
      store.boundaries = readers.stream().mapToLong(Long::longValue).toArray();
      compare(store, all, ranges, readers);
      CompactionPicker picker = new CompactionPicker(store.config);
      for (int level = 0; level < Version.LEVELS - 1; level++) {
        CompactionPlan plan =
            picker.pickWholeLevel(store.versions.current(), level, /* busy= */ Set.of());
        if (plan != null) {
          // Refused where key ranges of tables would meet.
          store.versions.apply(CompactionJob.run(store.context(), plan));
          compare(store, all, ranges, readers);
          checkTables(store);
        }
      }
      // Nobody reads at older moments any more: no range is left.
      store.boundaries = new long[] {sequence};
      for (CompactionPlan plan :
          picker.pickRewrites(store.versions.current(), Set.of(), table -> true)) {
        store.versions.apply(CompactionJob.run(store.context(), plan));
      }
      compare(store, all, ranges, new TreeSet<>(Set.of(sequence)));
      assertEquals(List.of(), store.allRanges());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long fill(
      CompactionFixture store, Random random, List<Item> all, List<Range> ranges)
      throws IOException {
    long sequence = 1;
    for (int level : new int[] {6, 5, 0, 0, 0}) {
      TreeSet<Item> items = new TreeSet<>();
      List<Range> deletes = new ArrayList<>();
      int count = random.nextInt(60);
      int rangesOfTen = random.nextInt(4);
      for (int i = 0; i < count; i++) {
        if (random.nextInt(10) < rangesOfTen) {
          String from = key(random);
          String to = random.nextBoolean() ? key(random) : from + "\0\0";
          if (from.compareTo(to) < 0) {
            deletes.add(new Range(from, to, sequence++));
          }
        } else {
          items.add(
              random.nextInt(5) == 0
                  ? Item.delete(key(random), sequence++)
                  : Item.put(key(random), sequence++));
        }
      }
      if (!items.isEmpty() || !deletes.isEmpty()) {
        store.add(level, items, deletes);
        all.addAll(items);
        ranges.addAll(deletes);
      }
    }
    return sequence;
  }

  private static String key(Random random) {
    int index = random.nextInt(30);
    return (char) ('a' + index) + (index % 3 == 0 ? "\0" : "");
  }

  private static void compare(
      CompactionFixture store, List<Item> all, List<Range> ranges, Set<Long> readers) {
    List<Item> items = store.allItems();
    List<Range> left = store.allRanges();
    for (long reader : readers) {
      for (Item item : all) {
        assertEquals(
            CompactionFixture.visible(all, ranges, store.nowMillis, item.key(), reader),
            CompactionFixture.visible(items, left, store.nowMillis, item.key(), reader),
            () -> "at " + reader);
      }
    }
  }

  /** Everything a table says lies within its bounds. */
  private static void checkTables(CompactionFixture store) {
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : store.versions.current().level(level)) {
        String smallest = text(table.meta().smallestKey());
        String largest = text(table.meta().largestKey());
        for (Item item : store.items(table)) {
          assertTrue(item.key().compareTo(smallest) >= 0 && item.key().compareTo(largest) <= 0);
          assertTrue(item.sequence() >= table.meta().smallestSequence());
          assertTrue(item.sequence() <= table.meta().largestSequence());
        }
        List<Range> ranges = CompactionFixture.ranges(table.reader().rangeTombstones());
        assertEquals(
            table.meta().rangeCount(), table.reader().rangeTombstones().count(), "fragments");
        for (Range range : ranges) {
          assertTrue(range.from().compareTo(smallest) >= 0);
          assertTrue(range.to().compareTo(largest + "\0") <= 0, () -> range + " in " + largest);
          assertTrue(range.sequence() >= table.meta().smallestSequence());
          assertTrue(range.sequence() <= table.meta().largestSequence());
        }
      }
    }
  }

  @Test
  void rangeOverSeveralTablesIsCutBehindTheirLastKeys() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      TreeSet<Item> below = new TreeSet<>();
      for (int i = 100; i < 200; i++) {
        below.add(Item.put("k" + i, i - 99));
      }
      store.add(6, below);
      store.add(0, List.of(Item.put("k150", 500)), List.of(new Range("k000", "k999", 400)));
      store.boundaries = new long[] {300, NOW};
      compactLevelZero(store);
      List<TableFile> tables = store.versions.current().level(6);
      assertTrue(tables.size() > 3);
      String start = "k000";
      for (int i = 0; i < tables.size(); i++) {
        boolean last = i == tables.size() - 1;
        List<Item> items = store.items(tables.get(i));
        String end = last ? "k999" : items.get(items.size() - 1).key() + "\0";
        assertEquals(
            List.of(new Range(start, end, 400)),
            CompactionFixture.ranges(tables.get(i).reader().rangeTombstones()));
        start = end;
      }
    }
  }

  @Test
  void manyRangesWithoutEntriesFillSeveralTables() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      for (int table = 0; table < 2; table++) {
        List<Range> ranges = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
          String key = "k" + (100 + i);
          ranges.add(new Range(key + "a", key + "m", 10 + i + 100L * table));
        }
        store.add(0, List.of(), ranges);
      }
      store.add(6, List.of(Item.put("k120z", 1), Item.put("k149z", 2)));
      store.boundaries = new long[] {5, NOW};
      compactLevelZero(store);
      assertTrue(store.versions.current().level(6).size() > 5);
      checkTables(store);
      assertEquals(50, store.allRanges().size());
    }
  }

  /** Without a gap between them there is no key behind which a table could end. */
  @Test
  void manyRangesThatMeetStayInOneTable() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<Range> ranges = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        ranges.add(new Range("k" + (100 + i), "k" + (101 + i), 10 + i));
      }
      ranges.add(new Range("k15000", "k151", 70));
      store.add(0, List.of(), ranges);
      store.add(6, List.of(Item.put("k150", 1), Item.put("k152", 2)));
      store.boundaries = new long[] {5, NOW};
      compactLevelZero(store);
      checkTables(store);
      assertEquals(ranges, store.allRanges());
    }
  }

  @Test
  void flushOfARangeAloneMakesATable() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<TableMeta> metas = store.flush(List.of(), List.of(new Range("b", "d", 5)));
      assertEquals(1, metas.size());
      TableMeta meta = metas.get(0);
      assertEquals(1, meta.rangeCount());
      assertEquals("b", text(meta.smallestKey()));
      assertEquals("d", text(meta.largestKey()));
      assertEquals(5, meta.smallestSequence());
      assertEquals(5, meta.largestSequence());
      assertEquals(0, meta.expiringCount());
      VersionEdit edit = new VersionEdit();
      edit.addTable(0, meta);
      store.versions.apply(edit);
      assertEquals(List.of(Item.delete("b", 5)), store.level(0));
      assertEquals(List.of(new Range("b", "d", 5)), store.allRanges());
    }
  }

  @Test
  void rangeThatEndsBehindAKeyEndsWithIt() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      TableMeta meta = store.flush(List.of(), List.of(new Range("b", "d\0", 5))).get(0);
      assertEquals("d", text(meta.largestKey()));
    }
  }

  /** The range above could be cut only behind a key that is longer than keys can be. */
  @Test
  void tableDoesNotEndInARangeAtAKeyOfTheGreatestLength() throws IOException {
    String longest = "m".repeat(Limits.STORED_KEY_BYTES_MAX);
    try (CompactionFixture store = new CompactionFixture()) {
      TreeSet<Item> below = new TreeSet<>();
      below.add(Item.put("a", 1));
      below.add(Item.put(longest, 2));
      below.add(Item.put("n", 3));
      below.add(Item.put("o", 4));
      store.add(6, below);
      store.add(0, List.of(), List.of(new Range("a", "z", 9)));
      store.boundaries = new long[] {5, NOW};
      compactLevelZero(store);
      checkTables(store);
      assertEquals(Set.of("a", longest, "n", "o"), keys(store.level(6)), "what the snapshot sees");
      for (Item item : below) {
        Item seen =
            CompactionFixture.visible(
                store.level(6), store.allRanges(), store.nowMillis, item.key(), 5);
        assertEquals(item, seen);
        assertFalse(
            CompactionFixture.visible(
                    store.level(6), store.allRanges(), store.nowMillis, item.key(), NOW)
                != null);
      }
    }
  }

  /** A snapshot reads the older version; the range deletes the newer one, which nobody reads. */
  @Test
  void tablesEndAtKeysWhoseNewestVersionIsDropped() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      TreeSet<Item> kept = new TreeSet<>();
      TreeSet<Item> all = new TreeSet<>();
      for (int i = 100; i < 200; i++) {
        kept.add(Item.put("k" + i, i - 99));
        all.add(Item.put("k" + i, i + 100));
      }
      all.addAll(kept);
      Range range = new Range("a", "z", 400);
      store.add(6, all);
      store.add(0, List.of(), List.of(range));
      store.boundaries = new long[] {150, NOW};
      compactLevelZero(store);
      checkTables(store);
      assertEquals(List.copyOf(kept), puts(store.level(6)));
      int tables = store.versions.current().level(6).size();
      assertTrue(tables > 3, () -> tables + " tables");
      compare(store, List.copyOf(all), List.of(range), Set.of(150L, NOW));
    }
  }

  /** What they cover in the log is no less because the device refused once. */
  @Test
  void rangesThatCouldNotBeReadCountWhenTheyCan() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      store.versions.apply(new VersionEdit().addSegment(1));
      store.versions.apply(new VersionEdit().addTable(6, tableOfValues(store)));
      store.add(0, List.of(), List.of(new Range("a", "d", 9)));
      Version version = store.versions.current();
      CompactionPicker picker = new CompactionPicker(store.config);
      store.storage.failNext(Fault.EIO, operation -> operation == Operation.MAP);
      double hidden = picker.hiddenInLog(version, NOW);
      assertTrue(hidden < VALUE_BYTES, "hidden " + hidden);
      // Each try may take a device long.
      assertEquals(hidden, picker.hiddenInLog(version, NOW));
      picker.lookAgain();
      assertEquals(VALUE_BYTES, picker.hiddenInLog(version, NOW));
    }
  }

  private static TableMeta tableOfValues(CompactionFixture store) {
    long number = store.versions.newFileNumber();
    byte[] smallest = "b".getBytes(StandardCharsets.UTF_8);
    byte[] largest = "c".getBytes(StandardCharsets.UTF_8);
    List<SegmentUse> uses = List.of(new SegmentUse(1, VALUE_BYTES, 10));
    return new TableMeta(number, 100, smallest, largest, 1, 8, 10, 0, 0, 0, 10, 0, 0, 0, uses);
  }

  /** Without the deletes that stand for tables of ranges alone. */
  private static List<Item> puts(List<Item> items) {
    return items.stream().filter(item -> item.kind() == Tag.PUT).toList();
  }

  private static Set<String> keys(List<Item> items) {
    Set<String> keys = new TreeSet<>();
    items.forEach(item -> keys.add(item.key()));
    return keys;
  }

  private static String text(byte[] key) {
    return new String(key, StandardCharsets.UTF_8);
  }

  private static void compactLevelZero(CompactionFixture store) throws IOException {
    CompactionPlan plan =
        new CompactionPicker(store.config).pickWholeLevel(store.versions.current(), 0, Set.of());
    assertTrue(plan != null);
    store.versions.apply(CompactionJob.run(store.context(), plan));
  }
}
