package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.compaction.CompactionFixture.Item;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
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
    // Of what has expired, nobody sees anything any more, not even a snapshot.
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

  /**
   * @param history versions of one key, newest first: p put, d delete, e expired, l expires later
   * @param expected of each: K is kept, T is kept as a tombstone, - is dropped
   */
  private static void check(String history, String expected, boolean bottom, long... boundaries)
      throws IOException {
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
    try (CompactionFixture store = new CompactionFixture()) {
      assertEquals(expected, String.join(" ", judge(store, items, bottom, boundaries)), history);
    }
  }

  private static List<String> judge(
      CompactionFixture store, List<Item> items, boolean bottom, long... boundaries) {
    List<String> verdicts = new ArrayList<>();
    Memtable memtable = store.memtable(items);
    try (InternalIterator iterator = memtable.iterator();
        VersionFilter filter =
            new VersionFilter(boundaries, bottom, 1000, RangeTombstones.NONE, store.ledger)) {
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
    TreeSet<Long> readers = new TreeSet<>();
    for (long sequence = 1; sequence <= 40; sequence++) {
      String key = "k" + random.nextInt(4);
      items.add(
          switch (random.nextInt(5)) {
            case 0 -> Item.delete(key, sequence);
            case 1 -> Item.expiring(key, sequence, 900 + random.nextInt(200));
            default -> Item.put(key, sequence);
          });
      if (random.nextInt(8) == 0) {
        readers.add(sequence);
      }
    }
    long visible = 30L + random.nextInt(11);
    readers.removeIf(sequence -> sequence > visible);
    readers.add(visible);
    boolean bottom = random.nextBoolean();
    List<Item> all = List.copyOf(items);
    List<Item> kept = new ArrayList<>();
    try (CompactionFixture store = new CompactionFixture()) {
      long[] boundaries = readers.stream().mapToLong(Long::longValue).toArray();
      List<String> verdicts = judge(store, all, bottom, boundaries);
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
    // 40 stands for all who will read after the job.
    for (long reader :
        LongStream.concat(LongStream.of(40), readers.stream().mapToLong(r -> r)).toArray()) {
      for (int k = 0; k < 4; k++) {
        // Where levels lie below, each key has an old version there.
        Item below = bottom ? null : Item.put("k" + k, 0);
        assertEquals(visible(all, below, "k" + k, reader), visible(kept, below, "k" + k, reader));
      }
    }
  }

  /** What a reader gets; null for nothing. */
  private static @Nullable Item visible(
      List<Item> items, @Nullable Item below, String key, long reader) {
    for (Item item : items) {
      if (item.key().equals(key) && item.sequence() <= reader) {
        boolean gone =
            item.kind() == Tag.DELETE
                || (Tag.expires(item.kind()) && item.expiresAtMillis() <= 1000);
        return gone ? null : item;
      }
    }
    return below;
  }
}
