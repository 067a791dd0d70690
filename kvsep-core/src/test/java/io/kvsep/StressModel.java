package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** What the threads of a stress run know together, from one opening of the store to the next. */
final class StressModel {
  static final int WRITERS = 3;
  static final int READERS = 3;

  /** Who checks a store that was just opened. */
  static final int OPENER = READERS;

  static final int SLOTS = 4;
  static final int COUNTERS = 3;

  /** The store itself and the keyspaces that stay. */
  final List<StressSpace> lasting;

  /** Keyspaces that come and go. */
  final AtomicReferenceArray<@Nullable StressSpace> passing = new AtomicReferenceArray<>(SLOTS);

  /** In this opening. */
  volatile @Nullable StressSpace lastDropped;

  private final AtomicLongArray attempts = new AtomicLongArray(COUNTERS);
  private final AtomicLongArray increments = new AtomicLongArray(COUNTERS);
  private final Map<String, LongAdder> tally = new ConcurrentHashMap<>();
  private long spaces;

  StressModel() {
    lasting = List.of(newSpace(null), newSpace("lasting-1"), newSpace("lasting-2"));
  }

  synchronized StressSpace newSpace(@Nullable String name) {
    return new StressSpace(spaces++, name, WRITERS, READERS + 1);
  }

  StressSpace anyLasting(Random random) {
    return lasting.get(random.nextInt(lasting.size()));
  }

  @Nullable StressSpace anyPassing(Random random) {
    return passing.get(random.nextInt(SLOTS));
  }

  /** Mostly one that stays, sometimes one that is being dropped or is gone. */
  StressSpace anySpace(Random random) {
    int kind = random.nextInt(32);
    StressSpace space = kind == 0 ? lastDropped : kind < 9 ? anyPassing(random) : null;
    return space == null ? anyLasting(random) : space;
  }

  List<StressSpace> allSpaces() {
    List<StressSpace> all = new ArrayList<>(lasting);
    for (int slot = 0; slot < SLOTS; slot++) {
      StressSpace space = passing.get(slot);
      if (space != null) {
        all.add(space);
      }
    }
    StressSpace gone = lastDropped;
    if (gone != null) {
      all.add(gone);
    }
    return all;
  }

  void count(String what) {
    count(what, 1);
  }

  void count(String what, long times) {
    tally.computeIfAbsent(what, key -> new LongAdder()).add(times);
  }

  long counted(String what) {
    LongAdder count = tally.get(what);
    return count == null ? 0 : count.sum();
  }

  /** How often what was done. */
  String tally() {
    List<String> parts = new ArrayList<>();
    new TreeMap<>(tally).forEach((what, count) -> parts.add(what + " " + count));
    return String.join(", ", parts);
  }

  /** Adds one to a counter that all writers share. */
  void increment(KvStore store, int counter) {
    byte[] key = counterKey(counter);
    attempts.incrementAndGet(counter);
    byte[] now;
    do {
      now = store.get(key);
    } while (!store.compareAndSet(key, now, counterValue(countIn(now) + 1)));
    increments.incrementAndGet(counter);
    count("increments");
  }

  /** A counter never stands below what was acknowledged, nor above what was tried. */
  long checkCounter(KvReader reader, int counter) {
    long least = increments.get(counter);
    long found = countIn(reader.get(counterKey(counter)));
    long most = attempts.get(counter);
    assertTrue(
        least <= found && found <= most,
        () -> "counter at " + found + " after " + least + " of " + most + " increments");
    return found;
  }

  /**
   * In a store that was just opened no operation is under way, and its content is what happened.
   */
  void settleCounters(KvStore store) {
    for (int counter = 0; counter < COUNTERS; counter++) {
      long found = checkCounter(store, counter);
      attempts.set(counter, found);
      increments.set(counter, found);
    }
  }

  private static byte[] counterKey(int counter) {
    return new byte[] {(byte) 0xff, (byte) counter};
  }

  private static byte[] counterValue(long count) {
    return ByteBuffer.allocate(8 + (int) (count % 400)).putLong(count).array();
  }

  private static long countIn(byte @Nullable [] value) {
    if (value == null) {
      return 0;
    }
    long count = ByteBuffer.wrap(value).getLong();
    assertEquals(8 + count % 400, value.length, "length of a counter");
    return count;
  }

  /** Every writer's first and last key are written together, in all spaces that stay. */
  static void checkWhole(List<long[]> versions) {
    for (int writer = 0; writer < WRITERS; writer++) {
      int first = writer * StressSpace.BAND;
      int last = first + StressSpace.BAND - 1;
      long version = versions.get(0)[first];
      for (long[] space : versions) {
        assertEquals(version, space[first], "half a batch of writer " + writer);
        assertEquals(version, space[last], "half a batch of writer " + writer);
      }
    }
  }
}
