package io.kvsep.internal.iterator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Fragments of deleted ranges against the list of all deletes. */
final class RangeTombstonesTest {
  private record Delete(byte[] from, byte[] to, long sequence) {
    boolean covers(byte[] key) {
      return Arrays.compareUnsigned(from, key) <= 0 && Arrays.compareUnsigned(key, to) < 0;
    }
  }

  private final MemoryLedger ledger = new MemoryLedger();
  private final Region scratch = ledger.allocate(MemoryPurpose.READ, 64);

  @AfterEach
  void nothingIsLeft() {
    scratch.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void everyKeyIsCoveredByTheDeletesAroundIt() {
    Seeds.run(getClass(), "everyKeyIsCoveredByTheDeletesAroundIt", 1, 300, this::compare);
  }

  private void compare(long seed) {
    Random random = new Random(seed);
    List<Delete> deletes = new ArrayList<>();
    RangeTombstones.Builder builder = new RangeTombstones.Builder();
    int count = random.nextInt(20);
    for (long sequence = 1; sequence <= count; sequence++) {
      Delete delete = new Delete(key(random), key(random), sequence);
      deletes.add(delete);
      builder.add(delete.from, delete.to, sequence);
    }
    RangeTombstones built = builder.build();
    check(deletes, built, random);
    // In any order, in parts, and more than once.
    RangeTombstones.Builder again = new RangeTombstones.Builder();
    byte[] middle = key(random);
    again.add(built.clip(middle, null));
    again.add(built.clip(null, middle));
    Collections.shuffle(deletes, random);
    for (Delete delete : deletes) {
      if (random.nextBoolean()) {
        again.add(delete.from, delete.to, delete.sequence);
      }
    }
    assertSameFragments(built, again.add(built).build());
    byte[] from = random.nextInt(3) == 0 ? null : key(random);
    byte[] to = random.nextInt(3) == 0 ? null : key(random);
    List<Delete> clipped = new ArrayList<>();
    for (Delete delete : deletes) {
      clipped.add(
          new Delete(
              from == null || Arrays.compareUnsigned(from, delete.from) < 0 ? delete.from : from,
              to == null || Arrays.compareUnsigned(to, delete.to) > 0 ? delete.to : to,
              delete.sequence));
    }
    check(clipped, built.clip(from, to), random);
  }

  @Test
  void newerFragmentsLieOverOlderOnes() {
    Seeds.run(getClass(), "newerFragmentsLieOverOlderOnes", 1, 300, this::overlay);
  }

  private void overlay(long seed) {
    Random random = new Random(seed);
    RangeTombstones newest = RangeTombstones.NONE;
    List<Delete> deletes = new ArrayList<>();
    for (long sequence = 1; sequence <= 20; sequence++) {
      // One after the other, and some put together before.
      RangeTombstones more = RangeTombstones.NONE;
      for (int i = random.nextInt(4); i >= 0 && sequence <= 20; i--) {
        Delete delete = new Delete(key(random), key(random), sequence);
        if (Arrays.compareUnsigned(delete.from, delete.to) < 0) {
          deletes.add(delete);
          more = RangeTombstones.of(delete.from, delete.to, sequence).over(more);
          sequence++;
        }
      }
      newest = more.over(newest);
    }
    checkFragments(newest);
    for (int i = 0; i < 60; i++) {
      byte[] key = key(random);
      scratch.put(5, key, 0, key.length);
      long expected = 0;
      for (Delete delete : deletes) {
        expected = delete.covers(key) ? delete.sequence : expected;
      }
      assertEquals(expected, newest.covering(scratch, 5, key.length, Long.MAX_VALUE));
    }
    for (int i = 0; i < newest.count(); i++) {
      assertEquals(1, newest.sequences(i).length);
    }
    assertSame(newest, newest.over(RangeTombstones.NONE));
    assertSame(newest, RangeTombstones.NONE.over(newest));
  }

  private void check(List<Delete> deletes, RangeTombstones built, Random random) {
    checkFragments(built);
    assertEquals(built.count() == 0, built.isEmpty());
    for (int i = 0; i < 60; i++) {
      byte[] key = key(random);
      scratch.put(5, key, 0, key.length);
      long reader = random.nextInt(22);
      long expected = 0;
      for (Delete delete : deletes) {
        if (delete.covers(key) && delete.sequence <= reader) {
          expected = Math.max(expected, delete.sequence);
        }
      }
      assertEquals(expected, built.covering(scratch, 5, key.length, reader));
      int floor = built.floor(scratch, 5, key.length);
      assertTrue(floor < 0 || Arrays.compareUnsigned(built.start(floor), key) <= 0);
      assertTrue(
          floor + 1 == built.count() || Arrays.compareUnsigned(built.start(floor + 1), key) > 0);
    }
  }

  private static void checkFragments(RangeTombstones built) {
    long bytes = 0;
    for (int i = 0; i < built.count(); i++) {
      assertTrue(Arrays.compareUnsigned(built.start(i), built.end(i)) < 0);
      long[] sequences = built.sequences(i);
      assertTrue(sequences.length > 0);
      for (int j = 1; j < sequences.length; j++) {
        assertTrue(sequences[j - 1] > sequences[j]);
      }
      if (i > 0) {
        int order = Arrays.compareUnsigned(built.end(i - 1), built.start(i));
        assertTrue(order <= 0);
        // Neighbours that say the same are one fragment.
        assertTrue(order < 0 || !Arrays.equals(built.sequences(i - 1), sequences));
      }
      bytes += built.bytes(i);
      assertTrue(built.bytes(i) >= built.start(i).length + built.end(i).length + 8);
    }
    assertEquals(bytes, built.bytes());
  }

  private static void assertSameFragments(RangeTombstones expected, RangeTombstones found) {
    assertEquals(expected.count(), found.count());
    for (int i = 0; i < expected.count(); i++) {
      assertArrayEquals(expected.start(i), found.start(i));
      assertArrayEquals(expected.end(i), found.end(i));
      assertArrayEquals(expected.sequences(i), found.sequences(i));
    }
  }

  @Test
  void emptyAndReversedRangesAreNothing() {
    RangeTombstones.Builder builder = new RangeTombstones.Builder();
    builder.add(bytes("b"), bytes("b"), 1).add(bytes("c"), bytes("b"), 2);
    builder.add(bytes("a"), bytes("b"));
    assertSame(RangeTombstones.NONE, builder.build());
    assertSame(RangeTombstones.NONE, RangeTombstones.NONE.clip(null, null));
    scratch.put(0, bytes("b"), 0, 1);
    assertEquals(0, RangeTombstones.NONE.covering(scratch, 0, 1, Long.MAX_VALUE));
    assertEquals(-1, RangeTombstones.NONE.floor(scratch, 0, 1));
  }

  /** The model draws keys that are short; order is that of unsigned bytes in any case. */
  @Test
  void overlapsAreCutAtEveryBoundary() {
    RangeTombstones built =
        new RangeTombstones.Builder()
            .add(bytes("a"), bytes("m"), 3)
            .add(bytes("f"), bytes("z"), 5)
            .add(bytes("f"), bytes("m"), 4)
            .build();
    List<String> found = new ArrayList<>();
    for (int i = 0; i < built.count(); i++) {
      String start = new String(built.start(i), StandardCharsets.UTF_8);
      String end = new String(built.end(i), StandardCharsets.UTF_8);
      found.add(start + end + Arrays.toString(built.sequences(i)));
    }
    assertEquals(List.of("af[3]", "fm[5, 4, 3]", "mz[5]"), found);
    assertEquals(4, built.newest(1, 4));
    assertEquals(RangeTombstones.NOTHING, built.newest(1, 2));
    assertEquals(4, built.oldestAbove(1, 3));
    assertEquals(3, built.oldestAbove(1, 1));
    assertEquals(RangeTombstones.NOTHING, built.oldestAbove(1, 5));
  }

  private static byte[] key(Random random) {
    byte[] key = new byte[1 + random.nextInt(3)];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(4) * 0x55);
    }
    return key;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
