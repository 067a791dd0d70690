package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What flushes and compactions make of deleted ranges. */
final class RangeCompactionTest {
  private static final long NOW = 1_000_000;
  private static final long VALUE_BYTES = 5_000;

  @Test
  void noReaderSeesADifferenceAndTablesStayApart() {
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      keys.add((char) ('a' + i) + (i % 3 == 0 ? "\0" : ""));
    }
    Seeds.some(
        getClass(),
        "noReaderSeesADifferenceAndTablesStayApart",
        300,
        50,
        seed -> compact(new Random(seed), keys, 60));
  }

  @Test
  void neitherWithKeysOfTheGreatestLength() {
    List<String> keys = new ArrayList<>();
    for (String last : List.of("\0", "a", "b", "c", "\u00ff")) {
      keys.add(longest("c", last));
      keys.add(longest("m\u00ff", "\u00ff" + last));
    }
    for (String key : List.copyOf(keys)) {
      String shorter = key.substring(0, key.length() - 1);
      keys.add(shorter);
      keys.add(shorter.substring(0, shorter.length() - 1) + "z");
    }
    keys.addAll(List.of("c", "m", "n", "n\0", "q"));
    Seeds.some(
        getClass(),
        "neitherWithKeysOfTheGreatestLength",
        60,
        6,
        seed -> compact(new Random(seed), keys, 25));
  }

  /** A key that is as long as keys can be. */
  private static String longest(String first, String last) {
    String fill = last.substring(0, 1);
    return first + fill.repeat(Limits.STORED_KEY_BYTES_MAX - first.length() - last.length()) + last;
  }

  /** Tables in levels 6, 5 and 0, the newest on top; then one compaction after the other. */
  private static void compact(Random random, List<String> keys, int itemsMax) {
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> all = new ArrayList<>();
      List<Range> ranges = new ArrayList<>();
      long sequence = fill(store, random, keys, itemsMax, all, ranges);
      TreeSet<Long> readers = new TreeSet<>(Set.of(sequence));
      for (int i = random.nextInt(4); i > 0; i--) {
        readers.add(random.nextLong(sequence));
      }
      store.boundaries = readers.stream().mapToLong(Long::longValue).toArray();
      compare(store, all, ranges, readers);
      CompactionPicker picker = new CompactionPicker(store.config);
      for (int level = 0; level < Version.LEVELS - 1; level++) {
        CompactionPlan plan = step(store, picker, level);
        while (plan != null) {
          // Refused where key ranges of tables would meet.
          store.versions.apply(CompactionJob.run(store.context(), plan));
          compare(store, all, ranges, readers);
          checkTables(store);
          plan = step(store, picker, level);
        }
      }
      // No snapshot of older moments is left: no range is left.
      store.boundaries = new long[] {sequence};
      byte[] after = {};
      CompactionPlan plan = rewrite(store, picker, after);
      while (plan != null) {
        store.versions.apply(CompactionJob.run(store.context(), plan));
        plan = rewrite(store, picker, plan.largestKey());
      }
      compare(store, all, ranges, new TreeSet<>(Set.of(sequence)));
      assertEquals(List.of(), store.allRanges());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long fill(
      CompactionFixture store,
      Random random,
      List<String> keys,
      int itemsMax,
      List<Item> all,
      List<Range> ranges)
      throws IOException {
    long sequence = 1;
    for (int level : new int[] {6, 5, 0, 0, 0}) {
      TreeSet<Item> items = new TreeSet<>();
      List<Range> deletes = new ArrayList<>();
      int count = random.nextInt(itemsMax);
      int rangesOfTen = random.nextInt(4);
      for (int i = 0; i < count; i++) {
        if (random.nextInt(10) < rangesOfTen) {
          String from = key(random, keys);
          boolean isShort = from.length() + 2 <= Limits.STORED_KEY_BYTES_MAX;
          String to = isShort && random.nextBoolean() ? from + "\0\0" : key(random, keys);
          if (from.compareTo(to) < 0) {
            deletes.add(new Range(from, to, sequence++));
          }
        } else {
          items.add(
              random.nextInt(5) == 0
                  ? Item.delete(key(random, keys), sequence++)
                  : Item.put(key(random, keys), sequence++));
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

  private static String key(Random random, List<String> keys) {
    return keys.get(random.nextInt(keys.size()));
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
      Set<String> keysBefore = Set.of();
      for (TableFile table : store.versions.current().level(level)) {
        Set<String> keys = keys(store.items(table));
        assertTrue(level == 0 || Collections.disjoint(keysBefore, keys), "a key in two tables");
        keysBefore = keys;
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
      compact(store);
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
      compact(store);
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
      compact(store);
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

  @Test
  void rangeIsCutBehindAShorterKeyWhereTheLastHasTheGreatestLength() throws IOException {
    String longest = "m".repeat(Limits.STORED_KEY_BYTES_MAX);
    String shorter = "m".repeat(Limits.STORED_KEY_BYTES_MAX - 2) + "n";
    try (CompactionFixture store = new CompactionFixture()) {
      TreeSet<Item> below = new TreeSet<>();
      below.add(Item.put("a", 1));
      below.add(Item.put(longest, 2));
      below.add(Item.put("n", 3));
      below.add(Item.put("o", 4));
      store.add(6, below);
      store.add(0, List.of(), List.of(new Range("a", "z", 9)));
      store.boundaries = new long[] {5, NOW};
      compact(store);
      checkTables(store);
      assertEquals(
          List.of(new Range("a", shorter + "\0", 9), new Range(shorter + "\0", "z", 9)),
          store.allRanges());
      assertEquals(Set.of("a", longest, "n", "o"), keys(store.level(6)), "what the snapshot sees");
      compare(store, List.copyOf(below), List.of(new Range("a", "z", 9)), Set.of(5L, NOW));
    }
  }

  /** There would be one table without limit. */
  @Test
  void tablesOfKeysOfTheGreatestLengthEndInARange() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      TreeSet<Item> below = new TreeSet<>();
      for (int i = 10; i < 30; i++) {
        String key = longest("k" + i, "x");
        below.add(Item.put(key, i));
        below.add(Item.put(key, 100 + i));
      }
      Range range = new Range("a", "z", 400);
      store.add(6, below);
      store.add(0, List.of(), List.of(range));
      store.boundaries = new long[] {50, 200, NOW};
      compact(store);
      checkTables(store);
      assertEquals(20, store.versions.current().level(6).size());
      assertEquals(List.copyOf(below), puts(store.level(6)));
      compare(store, List.copyOf(below), List.of(range), Set.of(50L, 200L, NOW));
    }
  }

  /** Between them there is no key at which a range could be cut. */
  @Test
  void keysThatDifferInTheirLastByteOnlyStayTogetherInARange() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      TreeSet<Item> below = new TreeSet<>();
      for (String first : List.of("k", "l")) {
        for (String last : List.of("\0", "a", "\u00ff")) {
          below.add(Item.put(longest(first, "x" + last), below.size() + 1));
        }
      }
      store.add(6, below);
      store.add(0, List.of(), List.of(new Range("a", "z", 400)));
      store.boundaries = new long[] {50, NOW};
      compact(store);
      checkTables(store);
      assertEquals(
          List.of(3, 3),
          store.versions.current().level(6).stream()
              .map(table -> puts(store.items(table)).size())
              .toList());
      assertEquals(List.copyOf(below), puts(store.level(6)));
    }
  }

  /** A snapshot reads the older version; the range deletes the newer one, which no reader needs. */
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
      compact(store);
      checkTables(store);
      assertEquals(List.copyOf(kept), puts(store.level(6)));
      int tables = store.versions.current().level(6).size();
      assertTrue(tables > 3, () -> tables + " tables");
      compare(store, List.copyOf(all), List.of(range), Set.of(150L, NOW));
    }
  }

  /** What they cover in the log counts again with the next version. */
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
      store.versions.apply(new VersionEdit().addSegment(2));
      assertEquals(VALUE_BYTES, picker.hiddenInLog(store.versions.current(), NOW));
    }
  }

  private static TableMeta tableOfValues(CompactionFixture store) {
    long number = store.versions.newFileNumber();
    byte[] smallest = "b".getBytes(StandardCharsets.ISO_8859_1);
    byte[] largest = "c".getBytes(StandardCharsets.ISO_8859_1);
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
    return new String(key, StandardCharsets.ISO_8859_1);
  }

  private static void compact(CompactionFixture store) throws IOException {
    CompactionPicker picker = new CompactionPicker(store.config);
    for (int level = 0; level < Version.LEVELS - 1; level++) {
      CompactionPlan plan = step(store, picker, level);
      while (plan != null) {
        store.versions.apply(CompactionJob.run(store.context(), plan));
        plan = step(store, picker, level);
      }
    }
  }

  private static @Nullable CompactionPlan step(
      CompactionFixture store, CompactionPicker picker, int level) {
    return picker.pickStep(
        store.versions.current(), level, Long.MAX_VALUE, /* busy= */ Set.of(), Set.of());
  }

  private static @Nullable CompactionPlan rewrite(
      CompactionFixture store, CompactionPicker picker, byte[] after) {
    return picker.pickRewrite(
        store.versions.current(), after, /* busy= */ Set.of(), /* stale= */ table -> true);
  }
}
