package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.compaction.CompactionFixture.Item;
import io.kvsep.internal.compaction.CompactionFixture.Range;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class VersionFilterTest {
  private static final boolean ABOVE_OTHERS = false;
  private static final boolean BOTTOM = true;

  @Test
  void withoutSnapshotsOnlyTheNewestVersionStays() throws IOException {
    check("p9", "K", ABOVE_OTHERS, 10);
    check("p9 p5 p1", "K - -", ABOVE_OTHERS, 10);
    check("p9 d5 p1", "K - -", ABOVE_OTHERS, 10);
    check("p9 e5 p1", "K - -", ABOVE_OTHERS, 10);
    check("p9 p5 p1", "K - -", BOTTOM, 10);
    check("p9 d5 p1", "K - -", BOTTOM, 10);
    check("l9 p5", "K -", BOTTOM, 10);
    check("l9 p5", "K -", ABOVE_OTHERS, 10);
  }

  @Test
  void tombstoneStaysUnlessNothingCanBeBelowIt() throws IOException {
    check("d9", "K", ABOVE_OTHERS, 10);
    check("d9 p5", "K -", ABOVE_OTHERS, 10);
    check("d9", "-", BOTTOM, 10);
    check("d9 p5 p1", "- - -", BOTTOM, 10);
    check("d10", "-", BOTTOM, 10);
  }

  @Test
  void expiredEntryIsATombstone() throws IOException {
    check("e9", "T", ABOVE_OTHERS, 10);
    check("e9 p5", "T -", ABOVE_OTHERS, 10);
    check("e9 p5", "- -", BOTTOM, 10);
    check("e9 p5 e3", "T K T", ABOVE_OTHERS, 3, 5, 10);
    // No reader sees anything of what has expired, not even a snapshot.
    check("e9 p5", "T K", BOTTOM, 5, 10);
    check("p9 e5", "K -", BOTTOM, 5, 10);
  }

  @Test
  void everySnapshotKeepsTheVersionItSees() throws IOException {
    check("p9 p5", "K K", BOTTOM, 5, 10);
    check("p9 p5", "K K", ABOVE_OTHERS, 8, 10);
    check("p9 p5", "K -", BOTTOM, 4, 10);
    check("p9 p5", "K -", ABOVE_OTHERS, 9, 10);
    check("p9 p6 p5 p4", "K - K -", BOTTOM, 5, 10);
    check("p9 p7 p5 p3 p1", "K K K K K", BOTTOM, 1, 3, 5, 7, 9);
    check("p9 p7 p5 p3 p1", "K K - K -", ABOVE_OTHERS, 4, 8, 9);
  }

  @Test
  void tombstoneStaysWhileAnOlderReaderKeepsWhatItHides() throws IOException {
    check("d9 p5", "K K", BOTTOM, 5, 10);
    check("d9 p5", "K -", BOTTOM, 4, 10);
    check("d5 p4", "- -", BOTTOM, 5, 10);
    check("d9 d5", "K -", BOTTOM, 5, 10);
    check("p9 d5", "K -", BOTTOM, 5, 10);
    check("d7 d5 p1", "K - -", BOTTOM, 5, 10);
    check("d9 p7 d5 p3", "K K - -", BOTTOM, 5, 7, 10);
    check("d9 p7 d5 p3", "K K K -", ABOVE_OTHERS, 5, 7, 10);
  }

  @Test
  void whatIsNewerThanTheVisibleNumberStays() throws IOException {
    check("p12 p9", "K K", BOTTOM, 10);
    check("p12 p11 p9", "K - K", BOTTOM, 10);
    check("d11 p9", "K K", BOTTOM, 10);
    check("d11", "K", BOTTOM, 10);
    check("e11 p9", "T K", BOTTOM, 10);
    check("p11", "K", BOTTOM, 0);
  }

  @Test
  void entriesExpireAtTheirMillisecond() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      for (long expiry : new long[] {0, 999, 1000, 1001, Long.MAX_VALUE}) {
        List<String> verdicts =
            judge(store, List.of(Item.expiring("k", 5, expiry)), ABOVE_OTHERS, 10);
        assertEquals(List.of(expiry <= 1000 ? "T" : "K"), verdicts);
      }
    }
  }

  @Test
  void keysDoNotInfluenceEachOther() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> items =
          List.of(
              Item.put("a", 9),
              Item.put("a", 8),
              Item.put("aa", 7),
              Item.delete("ab", 6),
              Item.put("ab", 5),
              Item.put("b", 4),
              Item.put("b", 3));
      assertEquals(List.of("K", "-", "K", "-", "-", "K", "-"), judge(store, items, BOTTOM, 10));
    }
  }

  @Test
  void rangeDeleteDropsOlderEntriesThatNoReaderSees() throws IOException {
    checkRanges("p9 p5", "7", "K -", "7", ABOVE_OTHERS, 10);
    checkRanges("p9", "7", "K", "", BOTTOM, 10);
    checkRanges("p5", "7", "-", "7", ABOVE_OTHERS, 10);
    checkRanges("p5", "7", "-", "", BOTTOM, 10);
    checkRanges("d5", "7", "-", "7", ABOVE_OTHERS, 10);
    checkRanges("e5", "7", "-", "7", ABOVE_OTHERS, 10);
    checkRanges("l5", "7", "-", "7", ABOVE_OTHERS, 10);
    checkRanges("p7", "6", "K", "6", ABOVE_OTHERS, 10);
    // Of one frame: what came behind the delete is newer.
    checkRanges("p8 p6", "7", "K -", "7", ABOVE_OTHERS, 10);
  }

  @Test
  void rangeDeleteLeavesWhatASnapshotSees() throws IOException {
    checkRanges("p5", "7", "K", "7", BOTTOM, 5, 10);
    checkRanges("p5", "7", "K", "7", BOTTOM, 6, 10);
    checkRanges("p5", "7", "-", "", BOTTOM, 7, 10);
    checkRanges("p5", "7", "-", "7", BOTTOM, 4, 10);
    checkRanges("p5 p3", "7 4", "K -", "7", BOTTOM, 6, 10);
    checkRanges("p5 p3", "7 4", "K -", "7 4", ABOVE_OTHERS, 6, 10);
    checkRanges("p5 p3", "7 4", "K K", "7 4", BOTTOM, 3, 6, 10);
    // Not yet visible, so no reader sees what it hides gone.
    checkRanges("p5", "12", "K", "12", BOTTOM, 10);
    checkRanges("p11 p5", "12", "- K", "12", BOTTOM, 10);
  }

  @Test
  void ofTheRangeDeletesInAStripeTheNewestIsKept() throws IOException {
    checkRanges("p1", "9 8 4 3", "-", "9", ABOVE_OTHERS, 10);
    checkRanges("p1", "9 8 4 3", "-", "9 4", ABOVE_OTHERS, 5, 10);
    checkRanges("p1", "9 8 4 3", "-", "9", BOTTOM, 5, 10);
    checkRanges("p1", "9 8 4 3", "-", "", BOTTOM, 10);
    checkRanges("p1", "12 11 4", "-", "12 4", ABOVE_OTHERS, 10);
  }

  @Test
  void rangeDeletesCoverFromTheirFirstKeyUpToTheirEnd() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> items = new ArrayList<>();
      for (String key : List.of("a", "b", "ba", "bz", "c", "ca", "d", "da", "e")) {
        items.add(Item.put(key, 5));
      }
      List<Range> ranges =
          List.of(new Range("b", "c", 9), new Range("ca", "cb", 8), new Range("d", "e", 4));
      List<Range> survivors = new ArrayList<>();
      assertEquals(
          List.of("K", "-", "-", "-", "K", "-", "K", "K", "K"),
          judge(store, items, ranges, survivors, ABOVE_OTHERS, 10));
      assertEquals(ranges, survivors);
    }
  }

  /** As {@link #check} with deletes of a range around the key and what is left of them. */
  private static void checkRanges(
      String history,
      String ranges,
      String expected,
      String survivors,
      boolean bottom,
      long... boundaries)
      throws IOException {
    List<Range> deletes = new ArrayList<>();
    for (String sequence : ranges.split(" ", -1)) {
      deletes.add(new Range("ke", "kf", Long.parseLong(sequence)));
    }
    try (CompactionFixture store = new CompactionFixture()) {
      List<Range> left = new ArrayList<>();
      List<String> verdicts = judge(store, versions(history), deletes, left, bottom, boundaries);
      assertEquals(expected, String.join(" ", verdicts), history);
      String found =
          left.stream().map(r -> Long.toString(r.sequence())).collect(Collectors.joining(" "));
      assertEquals(survivors, found, history);
    }
  }

  /**
   * @param history versions of one key, newest first: p put, d delete, e expired, l expires later
   * @param expected of each: K is kept, T is kept as a tombstone, - is dropped
   */
  private static void check(String history, String expected, boolean bottom, long... boundaries)
      throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<String> verdicts = judge(store, versions(history), bottom, boundaries);
      assertEquals(expected, String.join(" ", verdicts), history);
    }
  }

  private static List<Item> versions(String history) {
    List<Item> items = new ArrayList<>();
    for (String version : history.split(" ", -1)) {
      long sequence = Long.parseLong(version.substring(1));
      items.add(
          switch (version.charAt(0)) {
            case 'p' -> Item.put("key", sequence);
            case 'd' -> Item.delete("key", sequence);
            case 'e' -> Item.expiring("key", sequence, 900);
            default -> Item.expiring("key", sequence, 1100);
          });
    }
    return items;
  }

  private static List<String> judge(
      CompactionFixture store, List<Item> items, boolean bottom, long... boundaries) {
    return judge(store, items, List.of(), new ArrayList<>(), bottom, boundaries);
  }

  /** Also fills {@code survivors} with what is left of the ranges. */
  private static List<String> judge(
      CompactionFixture store,
      List<Item> items,
      List<Range> ranges,
      List<Range> survivors,
      boolean bottom,
      long... boundaries) {
    List<String> verdicts = new ArrayList<>();
    Memtable memtable = store.memtable(items, ranges);
    try (InternalIterator iterator = memtable.iterator();
        VersionFilter filter =
            new VersionFilter(
                boundaries, bottom, 1000, memtable.ranges().fragments(boundaries), store.ledger)) {
      survivors.addAll(CompactionFixture.ranges(filter.survivingRanges()));
      String last = "";
      int index = 0;
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        verdicts.add(
            switch (filter.judge(iterator)) {
              case KEEP -> "K";
              case KEEP_AS_TOMBSTONE -> "T";
              case DROP -> "-";
            });
        String key = items.get(index++).key();
        assertEquals(!key.equals(last), filter.isNewKey());
        last = key;
      }
    }
    memtable.free();
    return verdicts;
  }

  @Test
  void noReaderSeesADifference() {
    Seeds.run(getClass(), "noReaderSeesADifference", 1, 300, VersionFilterTest::compareReaders);
  }

  private static void compareReaders(long seed) {
    Random random = new Random(seed);
    TreeSet<Item> items = new TreeSet<>();
    List<Range> ranges = new ArrayList<>();
    TreeSet<Long> readers = new TreeSet<>();
    int rangesOfTen = random.nextInt(4);
    for (long sequence = 1; sequence <= 40; sequence++) {
      String key = "k" + random.nextInt(4);
      if (random.nextInt(10) < rangesOfTen) {
        int from = random.nextInt(4);
        ranges.add(new Range("k" + from, "k" + (from + 1 + random.nextInt(4)), sequence));
      } else {
        items.add(
            switch (random.nextInt(5)) {
              case 0 -> Item.delete(key, sequence);
              case 1 -> Item.expiring(key, sequence, 900 + random.nextInt(200));
              default -> Item.put(key, sequence);
            });
      }
      if (random.nextInt(8) == 0) {
        readers.add(sequence);
      }
    }
    long visible = 30L + random.nextInt(11);
    readers.removeIf(sequence -> sequence > visible);
    readers.add(visible);
    boolean bottom = random.nextBoolean();
    List<Item> all = new ArrayList<>(items);
    List<Item> kept = new ArrayList<>();
    List<Range> keptRanges = new ArrayList<>();
    try (CompactionFixture store = new CompactionFixture()) {
      long[] boundaries = readers.stream().mapToLong(Long::longValue).toArray();
      List<String> verdicts = judge(store, all, ranges, keptRanges, bottom, boundaries);
      for (int i = 0; i < all.size(); i++) {
        Item item = all.get(i);
        if (verdicts.get(i).equals("K")) {
          kept.add(item);
        } else if (verdicts.get(i).equals("T")) {
          kept.add(Item.delete(item.key(), item.sequence()));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    for (int k = 0; !bottom && k < 4; k++) {
      // Where levels lie below, each key has an old version there.
      all.add(Item.put("k" + k, 0));
      kept.add(Item.put("k" + k, 0));
    }
    // 40 stands for all who will read after the job.
    for (long reader :
        LongStream.concat(LongStream.of(40), readers.stream().mapToLong(r -> r)).toArray()) {
      for (int k = 0; k < 4; k++) {
        assertEquals(
            CompactionFixture.visible(all, ranges, 1000, "k" + k, reader),
            CompactionFixture.visible(kept, keptRanges, 1000, "k" + k, reader));
      }
    }
  }
}
