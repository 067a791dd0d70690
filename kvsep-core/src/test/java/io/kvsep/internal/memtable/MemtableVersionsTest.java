package io.kvsep.internal.memtable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Keys that are written again and again, and those that are hardly ever looked for. */
final class MemtableVersionsTest {
  private static final int ARENA_BYTES = 1 << 20;

  private final MemoryLedger ledger = new MemoryLedger();
  private final Region scratch = ledger.allocate(MemoryPurpose.READ, 8);
  private final Memtable.Splice splice = new Memtable.Splice();
  private Memtable memtable = new Memtable(ledger, ARENA_BYTES, LogPosition.START, 1);

  @AfterEach
  void free() {
    memtable.free();
    scratch.free();
    assertEquals(0, ledger.totalBytes());
  }

  private void insert(long key, long sequence) {
    scratch.putLong(0, Long.reverseBytes(key));
    Entry entry = new Entry();
    entry.keyRegion = scratch;
    entry.keyLength = 8;
    entry.tag = Tag.of(sequence, Tag.DELETE);
    assertTrue(memtable.insert(entry, splice));
  }

  private void goOnInTheNext() {
    Memtable next = new Memtable(ledger, ARENA_BYTES, LogPosition.START, 1, memtable.outlook());
    memtable.free();
    memtable = next;
  }

  /** The sequence number of what is found, 0 for nothing. */
  private long find(long key, long sequence) {
    scratch.putLong(0, Long.reverseBytes(key));
    long hash = KeyHash.of(scratch, 0, 8);
    int node = memtable.find(scratch, 0, 8, hash, Tag.seek(sequence));
    return node == 0 ? 0 : Tag.sequence(memtable.tag(node));
  }

  @Test
  void anyOfManyVersionsIsFound() {
    insert(1, 1);
    insert(3, 2);
    for (int i = 1; i <= 5000; i++) {
      insert(2, 10L * i);
    }
    assertEquals(0, find(2, 9));
    for (int i = 1; i <= 5000; i++) {
      assertEquals(10L * i, find(2, 10L * i));
      assertEquals(10L * i, find(2, 10L * i + 9));
    }
    assertEquals(1, find(1, 1 << 20));
    assertEquals(2, find(3, 1 << 20));
  }

  @Test
  void anyOfManyVersionsIsFewStepsAway() {
    int count = 1 << 14;
    for (int i = 1; i <= count; i++) {
      insert(2, i);
    }
    scratch.putLong(0, Long.reverseBytes(2));
    int newest = memtable.find(scratch, 0, 8, KeyHash.of(scratch, 0, 8), Tag.MAX);
    for (int i = 2; i <= count; i++) {
      long wanted = Tag.seek(i);
      int steps = 0;
      int version = newest;
      while (memtable.tag(version) > wanted) {
        int far = memtable.arena().getInt(version + Nodes.VERSION_JUMP);
        boolean jumps = memtable.tag(far) > wanted;
        long older = Nodes.olderOffset(memtable.arena(), version);
        version = jumps ? far : memtable.arena().getInt(older);
        steps++;
      }
      assertEquals(i, Tag.sequence(memtable.tag(version)));
      // Thrice the logarithm, where one after the other would be thousands.
      assertTrue(steps <= 3 * 14, "" + steps);
    }
  }

  @Test
  void versionsAreWalkedFromTheNewestToTheOldestAndBack() {
    insert(1, 1);
    insert(3, 2);
    for (int i = 1; i <= 3000; i++) {
      insert(2, 10L * i);
    }
    try (InternalIterator iterator = memtable.iterator()) {
      iterator.seekToFirst();
      assertEquals(1, Tag.sequence(iterator.tag()));
      for (int i = 3000; i >= 1; i--) {
        iterator.next();
        assertEquals(10L * i, Tag.sequence(iterator.tag()));
      }
      iterator.next();
      assertEquals(2, Tag.sequence(iterator.tag()));
      for (int i = 1; i <= 3000; i++) {
        iterator.previous();
        assertEquals(10L * i, Tag.sequence(iterator.tag()));
      }
      iterator.previous();
      assertEquals(1, Tag.sequence(iterator.tag()));
    }
  }

  @Test
  void anEntryThatWasNeverLookedForIsFound() {
    memtable.iterator().close();
    // So many that the index was given up.
    for (int i = 0; i < 10_000; i++) {
      insert(2L * i, i + 1);
    }
    assertEquals(0, memtable.outlook().expectedKeys());
    for (int i = 0; i < 10_000; i++) {
      assertEquals(i + 1, find(2L * i, 1 << 20));
      assertEquals(0, find(2L * i + 1, 1 << 20));
    }
    assertEquals(10_000, memtable.outlook().expectedKeys());
  }

  @Test
  void whatIsLookedForInBetweenIsFoundThroughoutAndNothingElse() {
    for (int i = 0; i < 10_000; i++) {
      insert(2L * i, i + 1);
      assertEquals(i + 1, find(2L * i, 1 << 20));
      assertEquals(0, find(2L * i + 1, 1 << 20));
      assertEquals(i / 2 + 1, find(i / 2 * 2L, 1 << 20));
    }
  }

  @Test
  void oneThatExpectsAsManyKeysAsTheLastOneFindsThemAndMore() {
    for (int i = 0; i < 3000; i++) {
      insert(i % 1000, i + 1);
    }
    long expected = memtable.outlook().expectedKeys();
    assertEquals(1000, expected);
    goOnInTheNext();
    for (int i = 0; i < 9000; i++) {
      insert(i, i + 1);
    }
    for (int i = 0; i < 9000; i++) {
      assertEquals(i + 1, find(i, 1 << 20));
    }
    assertEquals(0, find(9000, 1 << 20));
  }
}
