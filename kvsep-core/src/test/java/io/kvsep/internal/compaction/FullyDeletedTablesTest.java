package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.compaction.CompactionFixture.Item;
import io.kvsep.internal.compaction.CompactionFixture.Range;
import io.kvsep.internal.compaction.FullyDeletedTables.Covered;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

final class FullyDeletedTablesTest {
  @Test
  void tableUnderANewerRangeIsCovered() throws IOException {
    assertEquals("6:b", covered("b5 d6", "a-e9", 10));
    assertEquals("6:b", covered("b5 d6", "b-d\0 9", 10));
    assertEquals("6:b", covered("b5 d6", "b-e7", 10));
  }

  @Test
  void tableThatReachesOutOfTheRangeStays() throws IOException {
    assertEquals("", covered("b5 d6", "b-d9", 10));
    assertEquals("", covered("b5 d6", "ba-e9", 10));
    assertEquals("", covered("b5 d6", "a-b9", 10));
    assertEquals("", covered("b5 d6", "e-f9", 10));
  }

  @Test
  void tableWithSomethingNewerThanTheRangeStays() throws IOException {
    assertEquals("", covered("b5 d6", "a-e5", 10));
    assertEquals("", covered("b3 d4", "a-c9 c-e2", 10));
  }

  @Test
  void rangesThatMeetCoverTogether() throws IOException {
    assertEquals("6:b", covered("b5 d6", "a-c9 c-e8", 10));
    assertEquals("6:b", covered("b5 d6", "a-cc9 c-e8", 10));
    assertEquals("", covered("b5 d6", "a-c9 c\0-e8", 10));
  }

  @Test
  void snapshotThatSeesSomethingKeepsTheTable() throws IOException {
    assertEquals("", covered("b5 d6", "a-e9", 5, 10));
    assertEquals("", covered("b5 d6", "a-e9", 6, 10));
    assertEquals("", covered("b5 d6", "a-e9", 8, 10));
    assertEquals("6:b", covered("b5 d6", "a-e9", 9, 10));
    assertEquals("6:b", covered("b5 d6", "a-e9", 4, 10));
    // Each part needs a delete that the snapshot sees.
    assertEquals("6:b", covered("b5 d6", "a-e9 a-e7", 8, 10));
    assertEquals("", covered("b5 d6", "a-e9 a-c7", 8, 10));
  }

  @Test
  void rangeThatIsNotVisibleYetCoversNothing() throws IOException {
    assertEquals("", covered("b5 d6", "a-e9", 8));
    assertEquals("6:b", covered("b5 d6", "a-e9", 9));
  }

  /** As a compaction leaves it while a snapshot is open. */
  @Test
  void tableUnderItsOwnRangeIsCoveredWhenNothingIsBelow() throws IOException {
    List<Item> items = List.of(Item.put("b", 5), Item.put("d", 6));
    for (int level : new int[] {6, 5, 0}) {
      try (CompactionFixture store = new CompactionFixture()) {
        store.add(level, items, List.of(new Range("a", "e\0", 9)));
        assertEquals(level == 0 ? 0 : 1, found(store, 10));
        assertEquals(0, found(store, 7, 10));
        assertEquals(level == 0 ? 0 : 1, found(store, 4, 10));
        if (level < 6) {
          store.add(6, List.of(Item.put("c", 1)));
          // What lies below is covered first; the range goes when that is gone.
          assertEquals(1, found(store, 10));
          assertEquals(0, found(store, 1, 10));
        }
      }
    }
    try (CompactionFixture store = new CompactionFixture()) {
      store.add(6, List.of(Item.put("b", 5), Item.put("d", 10)), List.of(new Range("a", "f", 9)));
      assertEquals(0, found(store, 10));
    }
    try (CompactionFixture store = new CompactionFixture()) {
      store.add(6, items, List.of(new Range("a", "d", 9)));
      assertEquals(0, found(store, 10));
    }
  }

  @Test
  void rangesOfUnreadableTablesArePassedOver() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      store.add(6, List.of(Item.put("b", 5)));
      store.add(0, List.of(), List.of(new Range("a", "e", 9)));
      Version version = store.versions.current();
      Set<TableFile> unreadable = Set.of(version.tables(0));
      long[] now = {10};
      assertEquals(1, FullyDeletedTables.find(version, now, Set.of(), Set.of()).tables().size());
      assertEquals(0, FullyDeletedTables.find(version, now, Set.of(), unreadable).tables().size());
    }
  }

  private static int found(CompactionFixture store, long... boundaries) {
    return tables(store, Set.of(), boundaries).size();
  }

  private static List<Covered> tables(
      CompactionFixture store, Set<TableFile> busy, long... boundaries) {
    return FullyDeletedTables.find(store.versions.current(), boundaries, busy, Set.of()).tables();
  }

  @Test
  void tablesThatOnlyASnapshotKeepsAreHeld() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      store.add(6, List.of(Item.put("b", 5)));
      assertFalse(
          FullyDeletedTables.find(store.versions.current(), new long[] {7, 10}, Set.of(), Set.of())
              .held());
      store.add(0, List.of(), List.of(new Range("a", "e", 9)));
      Version version = store.versions.current();
      assertTrue(FullyDeletedTables.find(version, new long[] {7, 10}, Set.of(), Set.of()).held());
      assertFalse(FullyDeletedTables.find(version, new long[] {9, 10}, Set.of(), Set.of()).held());
      assertFalse(FullyDeletedTables.find(version, new long[] {10}, Set.of(), Set.of()).held());
      assertFalse(FullyDeletedTables.find(version, new long[] {7}, Set.of(), Set.of()).held());
    }
  }

  @Test
  void busyTablesAreLeftAlone() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      store.add(6, List.of(Item.put("b", 5)));
      store.add(0, List.of(), List.of(new Range("a", "e", 9)));
      Set<TableFile> busy = new HashSet<>(store.versions.current().level(6));
      long[] boundaries = {10};
      assertEquals(1, tables(store, Set.of(), boundaries).size());
      assertEquals(List.of(), tables(store, busy, boundaries));
    }
  }

  /**
   * @param table entries of a table in level 6
   * @param ranges what tables in level 0 delete
   */
  private static String covered(String table, String ranges, long... boundaries)
      throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> items = new ArrayList<>();
      for (String item : table.split(" ", -1)) {
        items.add(Item.put(item.substring(0, 1), Long.parseLong(item.substring(1))));
      }
      store.add(6, items);
      List<Range> deletes = new ArrayList<>();
      for (String range : ranges.replace("\0 ", "\0").split(" ", -1)) {
        int dash = range.indexOf('-');
        String end = range.substring(dash + 1, range.length() - 1);
        long sequence = Long.parseLong(range.substring(range.length() - 1));
        deletes.add(new Range(range.substring(0, dash), end, sequence));
      }
      store.add(0, List.of(), deletes);
      StringBuilder found = new StringBuilder();
      for (Covered one : tables(store, Set.of(), boundaries)) {
        byte[] first = one.table().meta().smallestKey();
        found.append(one.level()).append(':').append(new String(first, StandardCharsets.UTF_8));
      }
      return found.toString();
    }
  }

  @Test
  void noReaderMissesWhatIsDropped() {
    Seeds.run(getClass(), "noReaderMissesWhatIsDropped", 1, 200, FullyDeletedTablesTest::drop);
  }

  private static void drop(long seed) {
    Random random = new Random(seed);
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> all = new ArrayList<>();
      List<Range> ranges = new ArrayList<>();
      long sequence = 1;
      // By age: in level 6 a table for each letter, above them some in level 0.
      for (int table = 0; table < 9; table++) {
        TreeSet<Item> items = new TreeSet<>();
        List<Range> deletes = new ArrayList<>();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
          int letter = table < 5 ? table : random.nextInt(5);
          items.add(Item.put((char) ('a' + letter) + "" + random.nextInt(4), sequence++));
        }
        for (int i = random.nextInt(table < 5 ? 2 : 4); i > 0; i--) {
          // Tables of level 6 keep to their letter.
          int first = table < 5 ? table : random.nextInt(5);
          int last = table < 5 ? table : random.nextInt(6);
          String from = (char) ('a' + first) + (random.nextBoolean() ? "" : "2");
          String to = (char) ('a' + last) + (random.nextBoolean() ? "3\0" : "9");
          if (from.compareTo(to) < 0) {
            deletes.add(new Range(from, to, sequence++));
          }
        }
        store.add(table < 5 ? 6 : 0, items, deletes);
        all.addAll(items);
        ranges.addAll(deletes);
      }
      TreeSet<Long> readers = new TreeSet<>(Set.of(sequence));
      for (int i = random.nextInt(3); i > 0; i--) {
        readers.add(random.nextLong(sequence));
      }
      long[] boundaries = readers.stream().mapToLong(Long::longValue).toArray();
      VersionEdit edit = new VersionEdit();
      for (Covered one : tables(store, Set.of(), boundaries)) {
        edit.removeTable(one.level(), one.table().meta().number());
      }
      store.versions.apply(edit);
      List<Item> left = store.allItems();
      for (long reader : readers) {
        for (Item item : all) {
          assertEquals(
              CompactionFixture.visible(all, ranges, store.nowMillis, item.key(), reader),
              CompactionFixture.visible(
                  left, store.allRanges(), store.nowMillis, item.key(), reader));
        }
      }
      if (readers.size() == 1 && deletesEverything(ranges, all)) {
        assertTrue(store.versions.current().level(6).isEmpty());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean deletesEverything(List<Range> ranges, List<Item> all) {
    return ranges.stream().anyMatch(r -> r.from().equals("a") && r.to().compareTo("e9") > 0)
        && !all.isEmpty();
  }
}
