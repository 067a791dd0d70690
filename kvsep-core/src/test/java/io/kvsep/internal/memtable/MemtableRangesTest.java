package io.kvsep.internal.memtable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Deleted ranges beside the entries of a memtable. */
final class MemtableRangesTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Region scratch =
      ledger.allocate(MemoryPurpose.READ, 2L * Limits.STORED_KEY_BYTES_MAX);
  private final Memtable memtable = new Memtable(ledger, 64 << 10, LogPosition.START, 3);
  private long sequence;

  @AfterEach
  void everythingIsGivenBack() {
    memtable.free();
    scratch.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void rangeIsNoEntryButTheMemtableIsNotEmpty() {
    assertTrue(memtable.isEmpty());
    assertTrue(insert(number(3), number(5)));
    assertFalse(memtable.isEmpty());
    assertEquals(1, memtable.entryCount());
    assertEquals(1, memtable.tombstoneCount());
    try (InternalIterator iterator = memtable.iterator()) {
      iterator.seekToFirst();
      assertFalse(iterator.isValid());
    }
    MemtableRanges ranges = memtable.ranges();
    byte[] key = number(4);
    scratch.put(0, key, 0, key.length);
    assertEquals(
        0, memtable.find(scratch, 0, key.length, KeyHash.of(scratch, 0, key.length), Tag.MAX));
    assertEquals(1, ranges.covering(scratch, 0, key.length, 1));
    assertEquals(0, ranges.covering(scratch, 0, key.length, 0));
  }

  @Test
  void whatAReaderHoldsDoesNotChange() {
    assertTrue(insert(number(3), number(5)));
    MemtableRanges before = memtable.ranges();
    assertTrue(insert(number(4), number(9)));
    assertTrue(insert(number(2), number(7)));
    assertEquals(1, before.fragments(sequence).count());
    assertEquals(1, covering(before, 4, sequence));
    assertEquals(0, covering(before, 6, sequence));
    assertEquals(5, memtable.ranges().fragments(1, 2).count());
    assertEquals(2, memtable.ranges().fragments(sequence).count());
  }

  @Test
  void rangesBeyondTheLimitAreRefused() {
    int count = 0;
    while (insert(number(2 * count), number(2 * count + 1))) {
      count++;
      assertTrue(count < 10_000);
    }
    assertEquals(count, memtable.ranges().fragments(sequence).count());
    assertEquals(count, memtable.entryCount());
    // Refused is refused: another memtable takes it, and this one is as it was.
    assertFalse(insert(number(0), number(1)));
    assertEquals(count, memtable.ranges().fragments(sequence).count());
    assertEquals(count, memtable.entryCount());
    assertTrue(memtable.ranges().fragments(sequence).bytes() < 2 << 20);
  }

  @Test
  void bytesBeyondTheLimitAreRefused() {
    byte[] from = new byte[Limits.STORED_KEY_BYTES_MAX];
    int count = 0;
    boolean taken = true;
    while (taken) {
      from[0] = (byte) (2 * count);
      byte[] to = from.clone();
      to[0]++;
      taken = insert(from.clone(), to);
      count += taken ? 1 : 0;
      assertTrue(count < 100);
    }
    assertTrue(count > 1);
    assertTrue(memtable.ranges().fragments(sequence).bytes() < 4 << 20);
  }

  /** Deletes of the same range are one fragment, but each of them takes room. */
  @Test
  void deletesOfOneRangeBeyondTheLimitAreRefused() {
    int count = 0;
    while (insert(number(1), number(2))) {
      count++;
      assertTrue(count < 200_000);
    }
    assertEquals(1, memtable.ranges().fragments(sequence).count());
    assertTrue(count > 1_000);
  }

  /** What is deleted up to one key, and then up to the next one, is no more than its last part. */
  @Test
  void deletesAroundEachOtherTakeNoMoreRoomThanOthers() {
    int count = 0;
    while (insert(number(0), number(count + 1))) {
      count++;
      assertEquals(count, covering(memtable.ranges(), 0, sequence));
      assertTrue(count < 200_000);
    }
    assertTrue(count > 1_000);
    assertEquals(1, memtable.ranges().fragments(sequence).count());
    long middle = sequence / 2;
    assertEquals(2, memtable.ranges().fragments(middle, sequence).count());
    assertEquals(middle, covering(memtable.ranges(), 0, middle));
    assertEquals(0, covering(memtable.ranges(), (int) middle, middle));
  }

  @Test
  void arenaThatIsLargerHasRoomForMoreRanges() {
    Memtable larger = new Memtable(ledger, 4 << 20, LogPosition.START, 3);
    try {
      int count = 0;
      while (insert(larger, number(2 * count), number(2 * count + 1))) {
        count++;
        assertTrue(count < 100_000);
      }
      assertTrue(count > 15_000);
    } finally {
      larger.free();
    }
  }

  /** Not as many as there are deletes: else each lookup would look at all of them. */
  @Test
  void readersThatAskAfterEachDeleteMeetFewRuns() {
    MemtableRanges ranges = MemtableRanges.NONE;
    for (int i = 1; i <= 20_000; i++) {
      ranges = ranges.plus(number(2 * i), number(2 * i + 1), i);
      assertEquals(Integer.bitCount(i), ranges.runs());
      assertEquals(i, covering(ranges, 2 * i, i));
      assertEquals(i / 2 + 1, covering(ranges, 2 * (i / 2 + 1), i));
      assertEquals(0, covering(ranges, 2 * i + 1, i));
    }
  }

  @Test
  void everyReaderSeesWhatAllDeletesSay() {
    Seeds.run(getClass(), "everyReaderSeesWhatAllDeletesSay", 1, 200, this::compare);
  }

  private record Delete(int from, int to, long sequence) {}

  private void compare(long seed) {
    Random random = new Random(seed);
    List<Delete> deletes = new ArrayList<>();
    List<MemtableRanges> moments = new ArrayList<>();
    MemtableRanges ranges = MemtableRanges.NONE;
    long last = 0;
    int keys = 1 + random.nextInt(60);
    for (int i = random.nextInt(80); i > 0; i--) {
      moments.add(ranges);
      last += 1 + random.nextInt(3);
      Delete delete = new Delete(random.nextInt(keys), random.nextInt(keys), last);
      deletes.add(delete);
      ranges = ranges.plus(number(delete.from), number(delete.to), last);
      for (int j = random.nextInt(3); j > 0; j--) {
        compare(deletes, ranges, random.nextInt(keys), random.nextLong(last + 2));
      }
    }
    for (int i = 0; i < moments.size(); i++) {
      long sequence = random.nextLong(last + 2);
      compare(deletes.subList(0, i), moments.get(i), random.nextInt(keys), sequence);
    }
    long[] boundaries = random.longs(random.nextInt(6), 1, last + 2).sorted().distinct().toArray();
    RangeTombstones fragments = ranges.fragments(boundaries);
    for (int key = 0; key < keys; key++) {
      byte[] stored = number(key);
      scratch.put(0, stored, 0, stored.length);
      for (long boundary : boundaries) {
        assertEquals(
            expected(deletes, key, boundary),
            fragments.covering(scratch, 0, stored.length, boundary));
      }
      assertEquals(
          expected(deletes, key, Long.MAX_VALUE),
          fragments.covering(scratch, 0, stored.length, Long.MAX_VALUE));
    }
    for (int i = 0; i < fragments.count(); i++) {
      assertTrue(fragments.sequences(i).length <= boundaries.length + 1);
    }
  }

  private void compare(List<Delete> deletes, MemtableRanges ranges, int key, long sequence) {
    long expected = expected(deletes, key, sequence);
    assertEquals(expected, covering(ranges, key, sequence));
    long[] newest = {0};
    ranges.forEachPart(
        sequence,
        part ->
            newest[0] =
                Math.max(newest[0], part.covering(scratch, 0, number(key).length, sequence)));
    assertEquals(expected, newest[0]);
    boolean later = false;
    for (Delete delete : deletes) {
      later |= delete.sequence > sequence && delete.from <= key && key < delete.to;
    }
    byte[] stored = number(key);
    assertEquals(
        later,
        ranges.anyAbove(
            sequence,
            (from, to) ->
                Arrays.compareUnsigned(from, stored) <= 0
                    && Arrays.compareUnsigned(stored, to) < 0));
  }

  private static long expected(List<Delete> deletes, int key, long sequence) {
    long newest = 0;
    for (Delete delete : deletes) {
      boolean covers = delete.from <= key && key < delete.to;
      newest = covers && delete.sequence <= sequence ? delete.sequence : newest;
    }
    return newest;
  }

  private long covering(MemtableRanges ranges, int key, long sequence) {
    byte[] stored = number(key);
    scratch.put(0, stored, 0, stored.length);
    return ranges.covering(scratch, 0, stored.length, sequence);
  }

  private boolean insert(byte[] from, byte[] to) {
    return insert(memtable, from, to);
  }

  private boolean insert(Memtable target, byte[] from, byte[] to) {
    scratch.put(0, from, 0, from.length);
    scratch.put(from.length, to, 0, to.length);
    Entry entry = new Entry();
    entry.keyRegion = scratch;
    entry.keyOffset = 0;
    entry.keyLength = from.length;
    entry.valueRegion = scratch;
    entry.valueOffset = from.length;
    entry.valueLength = to.length;
    entry.tag = Tag.of(++sequence, Tag.RANGE_DELETE);
    boolean inserted = target.insert(entry, new Memtable.Splice());
    sequence -= inserted ? 0 : 1;
    return inserted;
  }

  private static byte[] number(int value) {
    byte[] key = new byte[4];
    for (int i = 0; i < 4; i++) {
      key[i] = (byte) (value >>> (24 - 8 * i));
    }
    return key;
  }
}
