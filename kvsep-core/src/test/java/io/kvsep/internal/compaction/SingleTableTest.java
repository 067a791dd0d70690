package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.compaction.CompactionFixture.Item;
import io.kvsep.internal.compaction.CompactionFixture.Range;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tables that are due for themselves, chosen and compacted until nothing is due. */
final class SingleTableTest {
  private static final long HOUR = 3_600_000;

  private final CompactionFixture store;
  private final CompactionPicker picker;

  SingleTableTest() throws IOException {
    store =
        new CompactionFixture(
            new CompactionConfig(
                4,
                1 << 20,
                1 << 20,
                0.25,
                100,
                new TableOptions(256, 4, 10, false, CompactionFixture.STORE)));
    picker = new CompactionPicker(store.config);
    store.nowMillis = HOUR;
  }

  @AfterEach
  void everythingIsGivenBack() {
    store.close();
  }

  private @Nullable CompactionPlan pick() {
    return picker.pick(
        store.versions.current(), Set.of(), Set.of(), store.nowMillis, store.boundaries[0]);
  }

  /** Does what is due; how many times something was. */
  private int settle() throws IOException {
    int count = 0;
    for (CompactionPlan plan = pick(); plan != null; plan = pick()) {
      store.versions.apply(CompactionJob.run(store.context(), plan));
      assertTrue(++count < 20, "compactions have no end");
    }
    return count;
  }

  private static List<Item> expiring(int count, long first, long step) {
    List<Item> items = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      items.add(Item.expiring(key(i), 1 + i, first + i * step));
    }
    return items;
  }

  private static String key(int number) {
    return String.format("key-%03d", number);
  }

  @Test
  void expiredTableOfTheLastLevelIsRewrittenAndVanishes() throws IOException {
    store.add(6, expiring(40, 2 * HOUR, 0));
    assertNull(pick());
    store.nowMillis = 2 * HOUR - 1;
    assertNull(pick());
    store.nowMillis = 2 * HOUR;
    CompactionPlan plan = pick();
    assertNotNull(plan);
    assertEquals(6, plan.inputLevel());
    assertEquals(6, plan.outputLevel());
    assertFalse(plan.move());
    assertEquals(1, settle());
    assertEquals(List.of(), store.allItems());
  }

  @Test
  void tableOfWhichAQuarterHasExpiredIsRewrittenAndThenLeftAlone() throws IOException {
    List<Item> items = expiring(101, 2 * HOUR, HOUR);
    store.add(6, items);
    store.nowMillis = 27 * HOUR - 1;
    assertEquals(0, settle());
    store.nowMillis = 27 * HOUR;
    assertEquals(1, settle());
    assertEquals(items.subList(26, 101), store.allItems());
    // A quarter of the rest.
    store.nowMillis = 46 * HOUR - 1;
    assertEquals(0, settle());
    store.nowMillis = 46 * HOUR;
    assertEquals(1, settle());
  }

  @Test
  void expiredTableWithNothingBelowVanishesFromAnyLevel() throws IOException {
    for (int level = 0; level < 6; level++) {
      store.add(level, expiring(4, 2 * HOUR, 0));
      store.nowMillis = 2 * HOUR - 1;
      assertEquals(0, settle());
      store.nowMillis = 2 * HOUR;
      assertTrue(settle() > 0);
      assertEquals(List.of(), store.allItems());
    }
  }

  @Test
  void expiredEntriesGoOnHidingWhatIsBelowUntilTheyMeetIt() throws IOException {
    store.add(3, List.of(Item.expiring("b", 9, 2 * HOUR)));
    store.add(6, List.of(Item.put("a", 1), Item.put("b", 2)));
    store.nowMillis = 2 * HOUR;
    assertTrue(settle() > 0);
    assertEquals(List.of(Item.put("a", 1)), store.allItems());
  }

  @Test
  void expiredTableIsNotWaitedForBySnapshots() throws IOException {
    store.add(6, expiring(40, 2 * HOUR, 0));
    store.nowMillis = 2 * HOUR;
    store.boundaries = new long[] {10, 50};
    assertEquals(1, settle());
    // Tombstones take the place of those that the older reader does not see; see below.
    assertEquals(30, store.allItems().size());
    store.boundaries = new long[] {50};
    assertEquals(1, settle());
    assertEquals(List.of(), store.allItems());
  }

  @Test
  void tableOfTombstonesSinksAndVanishes() throws IOException {
    List<Item> items = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      items.add(Item.delete(key(2 * i), 100 + i));
      items.add(Item.put(key(2 * i + 1), 200 + i));
    }
    store.add(2, items);
    store.add(6, List.of(Item.put(key(0), 1), Item.put(key(18), 2), Item.put(key(19), 3)));
    assertTrue(settle() > 0);
    assertEquals(10, store.level(6).size());
    assertEquals(10, store.allItems().size());
  }

  @Test
  void tableWithFewerTombstonesThanEntriesStays() throws IOException {
    store.add(2, List.of(Item.put("a", 5), Item.delete("b", 6), Item.put("c", 7)));
    assertEquals(0, settle());
  }

  @Test
  void tombstonesThatASnapshotNeedsAreRewrittenOnlyOnceItIsReleased() throws IOException {
    store.add(6, List.of(Item.delete("a", 9), Item.put("a", 5), Item.delete("b", 8)));
    store.boundaries = new long[] {7, 20};
    assertEquals(0, settle());
    store.boundaries = new long[] {8, 20};
    assertEquals(0, settle());
    store.boundaries = new long[] {9, 20};
    assertEquals(1, settle());
    assertEquals(List.of(), store.allItems());
  }

  @Test
  void whatOthersHideIsDroppedOnceNoSnapshotNeedsIt() throws IOException {
    List<Item> items = new ArrayList<>();
    for (int i = 0; i < 85; i++) {
      items.add(Item.put(key(i), 9));
    }
    List<Item> newest = new ArrayList<>(items);
    for (int i = 85; i < 100; i++) {
      items.add(Item.put(key(i), 20));
      items.add(Item.put(key(i), 9));
      newest.add(Item.put(key(i), 20));
    }
    // Of 115 entries 15 are hidden, which is less than a quarter.
    store.add(6, items);
    store.boundaries = new long[] {30};
    assertEquals(0, settle());
    for (int i = 100; i < 115; i++) {
      items.add(Item.delete(key(i), 21));
      items.add(Item.put(key(i), 8));
    }
    empty();
    store.add(6, items);
    store.boundaries = new long[] {20, 30};
    assertEquals(0, settle());
    store.boundaries = new long[] {21, 30};
    assertEquals(1, settle());
    assertEquals(newest, store.allItems());
  }

  @Test
  void rangesThatASnapshotNeededAreRewrittenOnceItIsReleased() throws IOException {
    store.add(
        6,
        List.of(Item.put("a", 4), Item.put("b", 5), Item.put("d", 6)),
        List.of(new Range("b", "c", 9)));
    store.boundaries = new long[] {8, 20};
    assertEquals(0, settle());
    store.boundaries = new long[] {20};
    assertEquals(1, settle());
    assertEquals(List.of(Item.put("a", 4), Item.put("d", 6)), store.allItems());
    assertEquals(List.of(), store.allRanges());
  }

  @Test
  void oneTombstoneIsNotWorthALargeTable() throws IOException {
    List<Item> items = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      items.add(new Item(key(i), 1 + i, Item.put("", 1).kind(), 0, "value ".repeat(20)));
    }
    store.add(6, items);
    store.add(5, List.of(Item.delete(key(7), 5000)));
    assertEquals(0, settle());
  }

  /** The table below is looked at by its facts alone. */
  @Test
  void deletedRangeCountsForItsShareOfTheValuesBelow() throws IOException {
    store.versions.apply(new VersionEdit().addSegment(1));
    store.versions.apply(
        new VersionEdit()
            .addTable(6, values(1001, "k0000", "k9999", 10_000))
            .addTable(6, values(1002, "l0000", "l9999", 10_000)));
    List<Item> some = List.of(Item.put("k3", 88), Item.put("k4", 89));
    store.add(5, some, List.of(new Range("k3000", "k4000", 90)));
    assertEquals(0.2, score(), 0.1);
    assertNull(pick());
    store.add(4, some, List.of(new Range("k5000", "l5000", 91)));
    assertTrue(score() > 1.5);
    assertNotNull(pick());
    empty();
  }

  @Test
  void whatAReaderMaySeeIsNotHidden() throws IOException {
    store.versions.apply(new VersionEdit().addSegment(1).lastSequence(100));
    store.versions.apply(new VersionEdit().addTable(6, values(1001, "k0000", "k9999", 10_000)));
    List<Item> some = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      some.add(Item.put("k" + (1000 + i), 61 + i));
    }
    store.add(5, some, List.of(new Range("k4000", "k9000", 91)));
    assertTrue(score() > 1);
    store.boundaries = new long[] {60, 100};
    assertTrue(score() < 0.1);
    assertNull(pick());
    // The entries count, but for the range.
    store.boundaries = new long[] {90, 100};
    assertEquals(1.2, score(), 0.1);
    store.boundaries = new long[] {91, 100};
    assertEquals(2, score());
    empty();
  }

  private void empty() {
    for (int level = 0; level < Version.LEVELS; level++) {
      VersionEdit edit = new VersionEdit();
      for (TableFile table : store.versions.current().level(level)) {
        edit.removeTable(level, table.meta().number());
      }
      store.versions.apply(edit);
    }
  }

  private double score() {
    return picker.score(store.versions.current(), 5, 5, store.boundaries[0]);
  }

  private static TableMeta values(long number, String smallest, String largest, long valueBytes) {
    return new TableMeta(
        number,
        1000,
        smallest.getBytes(StandardCharsets.UTF_8),
        largest.getBytes(StandardCharsets.UTF_8),
        1,
        50,
        100,
        0,
        0,
        0,
        100,
        0,
        0,
        0,
        List.of(new SegmentUse(1, valueBytes, 100)));
  }
}
