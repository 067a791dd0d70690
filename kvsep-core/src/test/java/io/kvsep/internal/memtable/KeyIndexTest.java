package io.kvsep.internal.memtable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What the index knows, and when it is given up. */
final class KeyIndexTest {
  private static final int ARENA_BYTES = 4 << 20;
  private static final int KEY_BYTES = 16;

  private final MemoryLedger ledger = new MemoryLedger();
  private final Region arena = ledger.allocate(MemoryPurpose.MEMTABLE, ARENA_BYTES);
  private final Region scratch = ledger.allocate(MemoryPurpose.READ, KEY_BYTES);
  private final KeyIndex index = new KeyIndex(ledger, ARENA_BYTES, 0);
  private final Nodes nodes = new Nodes(arena, 1);
  private SkipList list = new SkipList(nodes, index, /* defers= */ false);
  private final SkipList.Splice splice = new SkipList.Splice();

  @AfterEach
  void free() {
    index.free();
    arena.free();
    scratch.free();
    assertEquals(0, ledger.totalBytes());
  }

  private static long fold(long a, long b) {
    return a * b ^ Math.multiplyHigh(a, b) ^ a >>> 32;
  }

  /** A key whose hash is that of all others made so. */
  private void makeColliding(long number) {
    long k0 = 0x9e3779b97f4a7c15L;
    long k1 = 0xbf58476d1ce4e5b9L;
    scratch.putLong(0, number);
    scratch.putLong(8, fold(k0 ^ KEY_BYTES * k1 ^ number, k1) ^ 77);
  }

  private void makeOrdinary(long number) {
    scratch.putLong(0, number);
    scratch.putLong(8, 77);
  }

  private void insert(long sequence) {
    Entry entry = new Entry();
    entry.keyRegion = scratch;
    entry.keyLength = KEY_BYTES;
    entry.tag = Tag.of(sequence, Tag.DELETE);
    assertNotEquals(SkipList.NULL, list.insert(entry, splice));
    list.complete();
  }

  private long find() {
    long hash = KeyHash.of(scratch, 0, KEY_BYTES);
    int node = list.find(scratch, 0, KEY_BYTES, hash, Tag.MAX);
    return node == Nodes.NULL ? 0 : Tag.sequence(nodes.tag(node));
  }

  @Test
  void keysMadeToHaveOneHashEndIt() {
    makeColliding(1);
    long hash = KeyHash.of(scratch, 0, KEY_BYTES);
    for (int i = 1; i <= 2000; i++) {
      makeColliding(i);
      assertEquals(hash, KeyHash.of(scratch, 0, KEY_BYTES));
      insert(i);
      assertEquals(i, find());
      makeColliding(3000 + i);
      assertEquals(0, find());
    }
    assertFalse(index.isComplete());
    for (int i = 1; i <= 2000; i++) {
      makeColliding(i);
      assertEquals(i, find());
    }
  }

  @Test
  void ordinaryKeysThatAreLookedForDoNot() {
    for (int i = 1; i <= 40_000; i++) {
      makeOrdinary(i);
      insert(i);
      assertEquals(i, find());
      makeOrdinary(-i);
      assertEquals(0, find());
    }
    assertTrue(index.isComplete());
    assertEquals(40_000, index.expectedKeys(/* needed= */ false));
  }

  @Test
  void keysThatAreNeverLookedForEndIt() {
    for (int i = 1; i <= 40_000; i++) {
      makeOrdinary(i);
      insert(i);
    }
    assertFalse(index.isComplete());
  }

  @Test
  void whileTheListDefersItIsKeptForEveryReader() {
    list = new SkipList(nodes, index, /* defers= */ true);
    for (int i = 1; i <= 40_000; i++) {
      makeOrdinary(i);
      insert(i);
    }
    assertTrue(index.isComplete());
    assertTrue(list.isDeferring());
    assertEquals(40_000, index.expectedKeys(list.isDeferring()));
    for (int i = 1; i <= 40_000; i++) {
      makeOrdinary(i);
      assertEquals(i, find());
    }
  }

  @Test
  void keysMadeToHaveOneHashEndDeferringToo() {
    list = new SkipList(nodes, index, /* defers= */ true);
    for (int i = 1; i <= 2000; i++) {
      makeColliding(i);
      insert(i);
      assertEquals(i, find());
      makeColliding(3000 + i);
      assertEquals(0, find());
    }
    assertFalse(index.isComplete());
    assertFalse(list.isDeferring());
    for (int i = 1; i <= 2000; i++) {
      makeColliding(i);
      assertEquals(i, find());
    }
    int walked = 0;
    for (long at = list.first(); at != SkipList.NULL; at = list.next(at)) {
      walked++;
    }
    assertEquals(2000, walked);
  }
}
