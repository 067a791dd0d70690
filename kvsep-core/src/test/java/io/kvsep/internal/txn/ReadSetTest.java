package io.kvsep.internal.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ReadSetTest {
  /** Keys are numbers of two bytes, so that a set of bits is the model. */
  private static final int KEYS = 1 << 16;

  private final MemoryLedger ledger = new MemoryLedger();
  private final Region key = ledger.allocate(MemoryPurpose.READ, 8);

  @AfterEach
  void free() {
    key.free();
  }

  @Test
  void knowsExactlyWhatWasAdded() {
    Seeds.some(ReadSetTest.class, 400, 50, random -> checkExact(random));
  }

  private void checkExact(Random random) {
    ReadSet set = new ReadSet();
    BitSet model = new BitSet();
    int span = 2 + random.nextInt(60);
    for (int i = random.nextInt(60); i >= 0; i--) {
      int from = random.nextInt(span);
      if (random.nextBoolean()) {
        set.add(key(from));
        model.set(from);
      } else {
        int to = random.nextInt(span);
        set.add(key(from), key(to));
        model.set(Math.min(from, to), from < to ? to : Math.min(from, to));
      }
      check(set.toRanges(), model, span);
    }
  }

  private void check(ReadRanges ranges, BitSet model, int span) {
    for (int i = 0; i <= span; i++) {
      assertEquals(model.get(i), contains(ranges, key(i)), "key " + i);
      assertFalse(contains(ranges, new byte[] {(byte) 7, (byte) i}), "a key of no range");
      for (int to = i + 1; to <= span; to++) {
        int next = model.nextSetBit(i);
        assertEquals(next >= 0 && next < to, ranges.meets(key(i), key(to)), i + ".." + to);
      }
      int first = ranges.firstBehind(key(i));
      boolean before =
          first == 0 || Arrays.compareUnsigned(ranges.end(first - 1), successor(key(i))) <= 0;
      assertTrue(before, "one before holds " + i);
      if (first < ranges.count()) {
        assertTrue(Arrays.compareUnsigned(ranges.end(first), key(i)) > 0);
      }
    }
    for (int i = 1; i < ranges.count(); i++) {
      assertTrue(Arrays.compareUnsigned(ranges.end(i - 1), successor(ranges.start(i))) <= 0);
    }
  }

  @Test
  void aKeyIsNotTheOneBehindIt() {
    ReadSet set = new ReadSet();
    set.add(new byte[] {0, 1});
    ReadRanges ranges = set.toRanges();
    assertTrue(contains(ranges, new byte[] {0, 1}));
    assertFalse(contains(ranges, new byte[] {0, 1, 0}));
    assertFalse(ranges.meets(new byte[] {0, 1, 0}, new byte[] {1}));
    set.add(new byte[] {0, 1}, new byte[] {0, 1, 0});
    set.add(new byte[] {0, 1, 0});
    assertTrue(contains(set.toRanges(), new byte[] {0, 1, 0}));
    assertFalse(contains(set.toRanges(), new byte[] {0, 1, 0, 0}));
  }

  @Test
  void memoryIsBoundedAndNothingIsMissed() {
    Seeds.each(ReadSetTest.class, 20, random -> checkBound(random));
  }

  private void checkBound(Random random) {
    long bytesMax = 4_000;
    ReadSet set = new ReadSet(bytesMax);
    BitSet model = new BitSet();
    for (int i = 0; i < 3_000; i++) {
      int at = random.nextInt(KEYS);
      if (random.nextInt(10) > 0) {
        set.add(key(at));
        model.set(at);
      } else {
        int to = Math.min(KEYS - 1, at + random.nextInt(20));
        set.add(key(at), key(to));
        model.set(at, to);
      }
      assertTrue(set.bytes() <= bytesMax, () -> "takes " + set.bytes());
    }
    ReadRanges ranges = set.toRanges();
    long cost = 0;
    for (int i = 0; i < ranges.count(); i++) {
      cost += 80 + ranges.start(i).length + (ranges.isPoint(i) ? 0 : ranges.end(i).length);
    }
    assertEquals(cost, set.bytes());
    for (int i = model.nextSetBit(0); i >= 0; i = model.nextSetBit(i + 1)) {
      assertTrue(contains(ranges, key(i)), "key " + i);
    }
  }

  @Test
  void theNearestNeighboursAreJoinedFirst() {
    ReadSet set = new ReadSet(6_000);
    for (int cluster = 0; cluster < 10; cluster++) {
      for (int i = 0; i < 20; i++) {
        set.add(key(cluster * 5_000 + i));
      }
    }
    ReadRanges ranges = set.toRanges();
    for (int cluster = 0; cluster < 10; cluster++) {
      assertFalse(contains(ranges, key(cluster * 5_000 + 2_500)));
    }
  }

  @Test
  void keyspacesAreJoinedLast() {
    ReadSet set = new ReadSet(3_000);
    for (int i = 0; i < 200; i++) {
      set.add(new byte[] {1, (byte) i, (byte) (i * 31), 5});
      set.add(new byte[] {3, (byte) i, (byte) (i * 17), 5});
    }
    assertFalse(contains(set.toRanges(), new byte[] {2, 9}));
    assertTrue(contains(set.toRanges(), new byte[] {3, 9, (byte) (9 * 17), 5}));
  }

  private boolean contains(ReadRanges ranges, byte[] stored) {
    key.put(0, stored, 0, stored.length);
    return ranges.contains(key, 0, stored.length);
  }

  private static byte[] key(int number) {
    return new byte[] {0, (byte) (number >>> 8), (byte) number};
  }

  private static byte[] successor(byte[] stored) {
    return Arrays.copyOf(stored, stored.length + 1);
  }
}
