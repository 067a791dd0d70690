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
    RangeTombstones ranges = memtable.rangeTombstones();
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
    RangeTombstones before = memtable.rangeTombstones();
    assertTrue(insert(number(4), number(9)));
    assertEquals(1, before.count());
    assertEquals(3, memtable.rangeTombstones().count());
  }

  @Test
  void fragmentsBeyondTheLimitAreRefused() {
    int count = 0;
    while (insert(number(2 * count), number(2 * count + 1))) {
      count++;
      assertTrue(count < 10_000);
    }
    assertEquals(count, memtable.rangeTombstones().count());
    assertEquals(count, memtable.entryCount());
    // Refused is refused: another memtable takes it, and this one is as it was.
    assertFalse(insert(number(0), number(1)));
    assertEquals(count, memtable.rangeTombstones().count());
    assertEquals(count, memtable.entryCount());
    assertTrue(memtable.rangeTombstones().bytes() < 2 << 20);
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
    assertTrue(memtable.rangeTombstones().bytes() < 4 << 20);
  }

  /** Deletes of the same range are one fragment, but each of them takes room. */
  @Test
  void deletesOfOneRangeBeyondTheLimitAreRefused() {
    int count = 0;
    while (insert(number(1), number(2))) {
      count++;
      assertTrue(count < 200_000);
    }
    assertEquals(1, memtable.rangeTombstones().count());
    assertTrue(count > 1_000);
  }

  private boolean insert(byte[] from, byte[] to) {
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
    boolean inserted = memtable.insert(entry, new Memtable.Splice());
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
