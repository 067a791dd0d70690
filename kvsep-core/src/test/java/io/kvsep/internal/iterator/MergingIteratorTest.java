package io.kvsep.internal.iterator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.ListIterator.Item;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Random walks over random children against one sorted set of all their entries. */
final class MergingIteratorTest {
  private final MemoryLedger ledger = new MemoryLedger();

  @Test
  void walksAsOneIteratorOverAllEntriesWould() {
    Seeds.run(getClass(), "walksAsOneIteratorOverAllEntriesWould", 1, 200, this::walk);
  }

  private void walk(long seed) {
    Random random = new Random(seed);
    TreeSet<Item> all = new TreeSet<>();
    List<InternalIterator> children = children(random, all, 0);
    Region scratch = ledger.allocate(MemoryPurpose.READ, 64);
    int known = 0;
    int knownShared = 0;
    try (MergingIterator merged = new MergingIterator(children, ledger)) {
      assertFalse(merged.isValid());
      Item at = null;
      for (int i = 0; i < 400; i++) {
        int choice = random.nextInt(20);
        if (choice < 8 && at != null) {
          byte[] before = at.key();
          merged.next();
          at = all.higher(at);
          if (at != null && merged.keyIsNew()) {
            assertFalse(Arrays.equals(before, at.key()));
            known++;
          }
          if (at != null) {
            int shared = merged.keyShared();
            assertTrue(Arrays.equals(before, 0, shared, at.key(), 0, shared));
            knownShared += shared;
          }
        } else if (choice < 16 && at != null) {
          merged.previous();
          at = all.lower(at);
        } else if (choice == 16) {
          merged.seekToFirst();
          at = all.isEmpty() ? null : all.first();
        } else if (choice == 17) {
          merged.seekToLast();
          at = all.isEmpty() ? null : all.last();
        } else {
          Item target = target(random, all);
          scratch.put(7, target.key(), 0, target.key().length);
          if (choice == 18) {
            merged.seek(scratch, 7, target.key().length, target.tag());
            at = all.ceiling(target);
          } else {
            merged.seekBefore(scratch, 7, target.key().length, target.tag());
            at = all.lower(target);
          }
        }
        check(at, merged);
      }
    }
    scratch.free();
    assertEquals(0, ledger.totalBytes());
    if (children.size() == 1 && all.size() > 20) {
      assertTrue(known > 0, "a child knows, and nothing comes between");
      assertTrue(knownShared > 0, "likewise");
    }
  }

  /** None to nine children, some of them empty; every entry is in one of them, or in some. */
  private List<InternalIterator> children(Random random, NavigableSet<Item> all, int duplicates) {
    int count = random.nextInt(10) + (duplicates > 0 ? 2 : 0);
    List<List<Item>> lists = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      lists.add(new ArrayList<>());
    }
    int entries = count == 0 ? 0 : random.nextInt(60);
    // A child that gets nothing is as good as any.
    int filled = count == 0 ? 0 : Math.max(1 + Math.min(1, duplicates), random.nextInt(count + 1));
    for (int i = 0; i < entries; i++) {
      int source = random.nextInt(filled);
      Item item = new Item(key(random), Tag.of(1 + random.nextInt(20), Tag.PUT), source);
      if (all.add(item)) {
        lists.get(source).add(item);
        for (int n = 0; n < duplicates; n++) {
          int other = (source + 1 + n) % filled;
          if (other != source && random.nextBoolean()) {
            lists.get(other).add(new Item(item.key(), item.tag(), source));
          }
        }
      }
    }
    List<InternalIterator> children = new ArrayList<>();
    for (List<Item> list : lists) {
      Collections.sort(list);
      children.add(new ListIterator(list, ledger));
    }
    return children;
  }

  private static byte[] key(Random random) {
    byte[] key = new byte[1 + random.nextInt(3)];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(3) * 0x7f);
    }
    return key;
  }

  private static Item target(Random random, NavigableSet<Item> all) {
    Item target = new Item(key(random), Tag.seek(random.nextInt(22)), 0);
    if (random.nextBoolean()) {
      Item near = all.ceiling(target);
      return near == null ? target : near;
    }
    return random.nextBoolean() ? new Item(target.key(), Tag.MAX, 0) : target;
  }

  private static void check(@Nullable Item expected, MergingIterator merged) {
    assertEquals(expected != null, merged.isValid());
    if (expected != null) {
      assertArrayEquals(expected.key(), key(merged));
      assertEquals(expected.tag(), merged.tag());
      assertEquals(1, merged.payloadLength());
      assertEquals(expected.source(), merged.payloadRegion().getByte(merged.payloadOffset()));
    }
  }

  private static byte[] key(InternalIterator iterator) {
    return iterator.keyRegion().getBytes(iterator.keyOffset(), iterator.keyLength());
  }

  /**
   * No two entries of a store are equal in key and tag. If it came to that, neither of them may be
   * lost, and nothing else may be.
   */
  @Test
  void equalEntriesOfTwoChildrenLoseNothing() {
    Seeds.run(getClass(), "equalEntriesOfTwoChildrenLoseNothing", 1, 200, this::walkWithDuplicates);
  }

  private void walkWithDuplicates(long seed) {
    Random random = new Random(seed);
    TreeSet<Item> all = new TreeSet<>();
    List<InternalIterator> children = children(random, all, 2);
    int total = 0;
    for (InternalIterator child : children) {
      for (child.seekToFirst(); child.isValid(); child.next()) {
        total++;
      }
    }
    try (MergingIterator merged = new MergingIterator(children, ledger)) {
      int seen = 0;
      for (merged.seekToFirst(); merged.isValid(); merged.next()) {
        seen++;
      }
      assertEquals(total, seen);
      for (merged.seekToLast(); merged.isValid(); merged.previous()) {
        seen--;
      }
      assertEquals(0, seen);
      Item at = null;
      for (int i = 0; i < 300; i++) {
        if (at == null) {
          boolean first = random.nextBoolean();
          if (first) {
            merged.seekToFirst();
          } else {
            merged.seekToLast();
          }
          at = all.isEmpty() ? null : first ? all.first() : all.last();
        } else {
          boolean next = random.nextBoolean();
          stepToAnother(merged, at, next);
          at = next ? all.higher(at) : all.lower(at);
        }
        check(at, merged);
      }
    }
    assertEquals(0, ledger.totalBytes());
  }

  /** Steps until key or tag changes: equal entries are one place. */
  private static void stepToAnother(MergingIterator merged, Item from, boolean next) {
    do {
      if (next) {
        merged.next();
      } else {
        merged.previous();
      }
    } while (merged.isValid() && new Item(key(merged), merged.tag(), 0).compareTo(from) == 0);
  }

  @Test
  void withoutChildrenThereIsNothing() {
    Region key = ledger.allocate(MemoryPurpose.READ, 1);
    try (MergingIterator merged = new MergingIterator(List.of(), ledger)) {
      merged.seekToFirst();
      assertFalse(merged.isValid());
      merged.seekToLast();
      assertFalse(merged.isValid());
      merged.seek(key, 0, 1, Tag.MAX);
      assertFalse(merged.isValid());
      merged.seekBefore(key, 0, 1, 0);
      assertFalse(merged.isValid());
      assertThrows(IllegalStateException.class, merged::keyRegion);
    }
    key.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void sourcesAreClosedUnlessTheyWereMerged() {
    IteratorSources kept = new IteratorSources();
    try (IteratorSources sources = new IteratorSources()) {
      sources.add(new ListIterator(List.of(), ledger));
      sources.add(new ListIterator(List.of(), ledger));
      kept.add(new ListIterator(List.of(), ledger));
    }
    long keptBytes = ledger.totalBytes();
    assertTrue(keptBytes > 0);
    MergingIterator merged = kept.merge(ledger);
    kept.close();
    assertEquals(keptBytes, ledger.totalBytes());
    merged.close();
    assertEquals(0, ledger.totalBytes());
  }
}
