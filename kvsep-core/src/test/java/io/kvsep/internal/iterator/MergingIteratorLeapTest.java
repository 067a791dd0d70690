package io.kvsep.internal.iterator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.ListIterator.Item;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Leaps of some children, against a model in which every child is a sorted set with a place. */
final class MergingIteratorLeapTest {
  private final MemoryLedger ledger = new MemoryLedger();

  @Test
  void onlyTheChildrenBehindTheGivenOneLeapAndNoneGoesBack() {
    Seeds.run(
        getClass(), "onlyTheChildrenBehindTheGivenOneLeapAndNoneGoesBack", 1, 300, this::walk);
  }

  private void walk(long seed) {
    Random random = new Random(seed);
    List<TreeSet<Item>> sets = new ArrayList<>();
    List<InternalIterator> children = new ArrayList<>();
    int count = 1 + random.nextInt(6);
    for (int i = 0; i < count; i++) {
      TreeSet<Item> set = new TreeSet<>();
      for (int n = random.nextInt(25); n > 0; n--) {
        // Numbers that no two children share.
        long sequence = 1 + i + (long) count * random.nextInt(20);
        set.add(new Item(key(random), Tag.of(sequence, Tag.PUT), i));
      }
      sets.add(set);
      children.add(new ListIterator(new ArrayList<>(set), ledger));
    }
    Region scratch = ledger.allocate(MemoryPurpose.READ, 16);
    try (MergingIterator merged = new MergingIterator(children, ledger)) {
      Model model = new Model(sets);
      for (int i = 0; i < 300; i++) {
        if (model.current() == null) {
          boolean forward = random.nextBoolean();
          model.restart(forward);
          if (forward) {
            merged.seekToFirst();
          } else {
            merged.seekToLast();
          }
        } else if (random.nextInt(3) == 0) {
          int child = random.nextInt(count + 1) - 1;
          byte[] key = key(random);
          scratch.put(3, key, 0, key.length);
          merged.leap(child, scratch, 3, key.length);
          model.leap(child, key);
        } else {
          boolean forward = random.nextInt(8) == 0 ? !model.forward : model.forward;
          model.step(forward);
          if (forward) {
            merged.next();
          } else {
            merged.previous();
          }
        }
        check(model.current(), merged);
      }
    }
    scratch.free();
    assertEquals(0, ledger.totalBytes());
  }

  private static void check(@Nullable Item expected, MergingIterator merged) {
    assertEquals(expected != null, merged.isValid());
    if (expected != null) {
      assertArrayEquals(
          expected.key(), merged.keyRegion().getBytes(merged.keyOffset(), merged.keyLength()));
      assertEquals(expected.tag(), merged.tag());
      assertEquals(expected.source(), merged.currentChild());
    }
  }

  /** Where each child stands; null behind its end. */
  private static final class Model {
    final List<TreeSet<Item>> sets;
    final @Nullable Item[] places;
    boolean forward;

    Model(List<TreeSet<Item>> sets) {
      this.sets = sets;
      this.places = new Item[sets.size()];
    }

    void restart(boolean walkForward) {
      forward = walkForward;
      for (int i = 0; i < places.length; i++) {
        TreeSet<Item> set = sets.get(i);
        places[i] = set.isEmpty() ? null : walkForward ? set.first() : set.last();
      }
    }

    @Nullable Item current() {
      Item current = null;
      for (@Nullable Item place : places) {
        boolean better =
            place != null && (current == null || (place.compareTo(current) < 0) == forward);
        current = better ? place : current;
      }
      return current;
    }

    void step(boolean walkForward) {
      Item current = Objects.requireNonNull(current());
      if (walkForward != forward) {
        forward = walkForward;
        // Turning puts all children around the current entry, also those that had leapt.
        for (int i = 0; i < places.length; i++) {
          places[i] = walkForward ? sets.get(i).higher(current) : sets.get(i).lower(current);
        }
      } else {
        int child = current.source();
        places[child] = forward ? sets.get(child).higher(current) : sets.get(child).lower(current);
      }
    }

    void leap(int child, byte[] key) {
      Item target = new Item(key, Tag.MAX, 0);
      for (int i = child + 1; i < places.length; i++) {
        Item place = places[i];
        if (place != null && Arrays.compareUnsigned(place.key(), key) < 0 == forward) {
          places[i] = forward ? sets.get(i).ceiling(target) : sets.get(i).lower(target);
        }
      }
    }
  }

  private static byte[] key(Random random) {
    byte[] key = new byte[1 + random.nextInt(3)];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(3) * 0x7f);
    }
    return key;
  }
}
