package io.kvsep.internal.memtable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memtables that bring their keys in order only when a reader needs that. */
final class MemtableDeferringTest {
  private static final int ARENA_BYTES = 32 << 20;

  private final MemoryLedger ledger = new MemoryLedger();
  private final GrowingRegion scratch = new GrowingRegion(ledger, MemoryPurpose.READ);
  private final Memtable.Splice splice = new Memtable.Splice();
  private final Entry entry = new Entry();
  private Memtable memtable = new Memtable(ledger, ARENA_BYTES, LogPosition.START, 7);

  /** Keys with the sequence numbers of their versions, oldest first. */
  private final TreeMap<byte[], long[]> model = new TreeMap<>(Arrays::compareUnsigned);

  private long sequence;

  @AfterEach
  void free() {
    memtable.free();
    scratch.close();
    assertEquals(0, ledger.totalBytes());
  }

  private void insert(byte[] key) {
    sequence++;
    Region region = scratch.ensure(key.length);
    region.put(0, key, 0, key.length);
    entry.keyRegion = region;
    entry.keyLength = key.length;
    entry.tag = Tag.of(sequence, Tag.DELETE);
    assertTrue(memtable.insert(entry, splice));
    model.merge(key, new long[] {sequence}, MemtableDeferringTest::appended);
  }

  private static long[] appended(long[] versions, long[] one) {
    long[] more = Arrays.copyOf(versions, versions.length + 1);
    more[versions.length] = one[0];
    return more;
  }

  private long find(byte[] key, long at) {
    Region region = scratch.ensure(key.length);
    region.put(0, key, 0, key.length);
    long hash = KeyHash.of(region, 0, key.length);
    int node = memtable.find(region, 0, key.length, hash, Tag.seek(at));
    return node == Nodes.NULL ? 0 : Tag.sequence(memtable.tag(node));
  }

  /** Finds the newest version, and the one before some moment. */
  private void checkFinds(Random random) {
    for (Map.Entry<byte[], long[]> each : model.entrySet()) {
      long[] versions = each.getValue();
      assertEquals(versions[versions.length - 1], find(each.getKey(), sequence));
      long at = random.nextLong(sequence + 1);
      long expected = Arrays.stream(versions).filter(version -> version <= at).max().orElse(0);
      assertEquals(expected, find(each.getKey(), at));
    }
  }

  private void checkWalk() {
    try (InternalIterator iterator = memtable.iterator()) {
      iterator.seekToFirst();
      for (Map.Entry<byte[], long[]> each : model.entrySet()) {
        long[] versions = each.getValue();
        for (int i = versions.length - 1; i >= 0; i--) {
          assertTrue(iterator.isValid());
          byte[] key = iterator.keyRegion().getBytes(iterator.keyOffset(), iterator.keyLength());
          assertArrayEquals(each.getKey(), key);
          assertEquals(versions[i], Tag.sequence(iterator.tag()));
          iterator.next();
        }
      }
      assertFalse(iterator.isValid());
    }
  }

  /** Keys that begin alike, of any length; some only differ by zeros at their ends. */
  private static byte[] someKey(Random random, byte[] prefix) {
    byte[] key = Arrays.copyOf(prefix, prefix.length + 1 + random.nextInt(12));
    for (int i = prefix.length; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(3) == 0 ? 0 : random.nextInt());
    }
    return key;
  }

  @Test
  void manyKeysAreFoundAndThenWalked() {
    Seeds.some(
        getClass(),
        "manyKeysAreFoundAndThenWalked",
        12,
        1,
        seed -> {
          startAnew();
          Random random = new Random(seed);
          byte[] prefix = new byte[random.nextInt(300)];
          random.nextBytes(prefix);
          int count = 30_000 + random.nextInt(30_000);
          for (int i = 0; i < count; i++) {
            boolean again = random.nextInt(20) == 0 && !model.isEmpty();
            insert(again ? model.firstKey() : someKey(random, prefix));
          }
          assertTrue(memtable.isDeferring());
          checkFinds(random);
          assertTrue(memtable.isDeferring());
          checkWalk();
          for (int i = 0; i < 1000; i++) {
            insert(someKey(random, prefix));
          }
          assertFalse(memtable.isDeferring());
          checkWalk();
          checkFinds(random);
        });
  }

  @Test
  void moreKeysThanAreSortedAtOnceComeInOrder() {
    Random random = new Random(3);
    byte[] key = new byte[4];
    Region region = scratch.ensure(key.length);
    entry.keyRegion = region;
    entry.keyLength = key.length;
    for (int i = 0; i < NodeSort.NODES_MAX + 20_000; i++) {
      region.putInt(0, random.nextInt());
      entry.tag = Tag.of(i + 1, Tag.DELETE);
      assertTrue(memtable.insert(entry, splice));
    }
    assertTrue(memtable.isDeferring());
    long met = 0;
    try (InternalIterator iterator = memtable.iterator()) {
      byte[] last = new byte[0];
      long lastTag = 0;
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        byte[] next = iterator.keyRegion().getBytes(iterator.keyOffset(), iterator.keyLength());
        int order = Arrays.compareUnsigned(last, next);
        assertTrue(order < 0 || (order == 0 && lastTag > iterator.tag()));
        last = next;
        lastTag = iterator.tag();
        met++;
      }
    }
    assertEquals(memtable.entryCount(), met);
  }

  /** Many that the first words of a sort do not tell from each other, and parts of others. */
  @Test
  void keysThatBeginAlikeComeInOrder() {
    Seeds.run(
        getClass(),
        "keysThatBeginAlikeComeInOrder",
        1,
        6,
        seed -> {
          startAnew();
          Random random = new Random(seed);
          byte[][] beginnings = new byte[5][];
          for (int i = 0; i < beginnings.length; i++) {
            beginnings[i] = new byte[1 + random.nextInt(60)];
            random.nextBytes(beginnings[i]);
          }
          for (int i = 0; i < 5_000; i++) {
            byte[] beginning = beginnings[random.nextInt(beginnings.length)];
            byte[] key = someKey(random, beginning);
            insert(random.nextInt(10) == 0 ? Arrays.copyOf(key, 1 + random.nextInt(60)) : key);
          }
          checkWalk();
          checkFinds(random);
        });
  }

  /** Keys that a sort cannot tell from each other but one by one, with little stack to do it. */
  @Test
  void keysThatAreBeginningsOfOthersComeInOrder() throws InterruptedException {
    byte[] longest = new byte[14_000];
    for (int i = 0; i < longest.length; i++) {
      longest[i] = (byte) (i % 9 == 1 ? 1 : i % 9 == 0 ? 7 : 0);
    }
    for (int i = 1; i <= 3_000; i++) {
      insert(Arrays.copyOf(longest, 1 + i / 2 * 9 + i % 2));
    }
    Random random = new Random(5);
    assertTrue(memtable.isDeferring());
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread walker =
        new Thread(null, () -> walkInOrder(model.size(), failure), "little stack", 160 << 10);
    walker.start();
    walker.join();
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
    checkWalk();
    checkFinds(random);
  }

  @Test
  void keysInAnyOrderComeInOrder() {
    Comparator<Integer> up = Comparator.naturalOrder();
    for (Comparator<Integer> order : Arrays.asList(up, up.reversed())) {
      startAnew();
      Integer[] numbers = new Integer[50_000];
      Arrays.setAll(numbers, i -> i);
      Arrays.sort(numbers, order);
      for (int number : numbers) {
        insert(String.format("key %08d", number).getBytes(StandardCharsets.UTF_8));
      }
      checkWalk();
    }
  }

  @Test
  void oneThatComesLateIsPutBehindTheNewer() {
    insert(new byte[] {1});
    insert(new byte[] {2});
    insert(new byte[] {2});
    sequence = 10;
    insert(new byte[] {3});
    assertTrue(memtable.isDeferring());
    // Older than what the key has.
    sequence = 4;
    model.remove(new byte[] {3});
    insert(new byte[] {3});
    model.put(new byte[] {3}, new long[] {5, 11});
    sequence = 11;
    assertFalse(memtable.isDeferring());
    checkWalk();
    checkFinds(new Random(1));
  }

  /** A writer of nothing but new versions of existing keys ends it as others do. */
  @Test
  void newVersionsBehindAWalkEndIt() {
    insert(new byte[] {1});
    insert(new byte[] {2});
    memtable.iterator().close();
    for (int i = 0; i < 4_000; i++) {
      insert(new byte[] {2});
    }
    assertFalse(memtable.insertMayTakeLong());
    assertFalse(memtable.isDeferring());
    checkWalk();
    checkFinds(new Random(1));
  }

  /** The index has room for all of them, short as they are. */
  @Test
  void anArenaFullOfShortKeysIsInNoOrder() {
    Region key = scratch.ensure(8);
    entry.keyRegion = key;
    entry.keyLength = 8;
    int count = 0;
    do {
      key.putLong(0, count * 0x9e37_79b9_7f4a_7c15L);
      entry.tag = Tag.of(count + 1, Tag.DELETE);
      count++;
    } while (memtable.insert(entry, splice));
    // More than four tables have slots for.
    assertTrue(count > 700_000, count + " keys");
    assertTrue(memtable.isDeferring());
    for (int i = 0; i < count - 1; i += 1009) {
      key.putLong(0, i * 0x9e37_79b9_7f4a_7c15L);
      int node = memtable.find(key, 0, 8, KeyHash.of(key, 0, 8), Tag.MAX);
      assertEquals(i + 1, Tag.sequence(memtable.tag(node)));
    }
  }

  @Test
  void theNextOnesKeepTheirKeysInOrderForAWhileWhereOneWasWalked() {
    goOnInTheNext();
    assertTrue(memtable.isDeferring());
    memtable.iterator().close();
    for (int i = 0; i < 16; i++) {
      goOnInTheNext();
      assertFalse(memtable.isDeferring());
    }
    goOnInTheNext();
    assertTrue(memtable.isDeferring());
  }

  /** The first reader that wants the order brings it about, while the writer goes on inserting. */
  @Test
  void walksBesideAnInserterMeetWhatWasThereBefore() throws InterruptedException {
    for (int round = 0; round < 20; round++) {
      startAnew();
      Random random = new Random(round);
      for (int i = 0; i < 5_000; i++) {
        insert(someKey(random, new byte[5]));
      }
      int there = model.values().stream().mapToInt(versions -> versions.length).sum();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      Thread[] walkers = new Thread[2];
      for (int i = 0; i < walkers.length; i++) {
        walkers[i] = new Thread(() -> walkInOrder(there, failure));
        walkers[i].start();
      }
      for (int i = 0; i < 5_000; i++) {
        insert(someKey(random, new byte[5]));
      }
      for (Thread walker : walkers) {
        walker.join();
      }
      if (failure.get() != null) {
        throw new AssertionError("round " + round, failure.get());
      }
      checkWalk();
    }
  }

  private void walkInOrder(int atLeast, AtomicReference<Throwable> failure) {
    try (InternalIterator iterator = memtable.iterator()) {
      int met = 0;
      byte[] last = new byte[0];
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        byte[] key = iterator.keyRegion().getBytes(iterator.keyOffset(), iterator.keyLength());
        assertTrue(Arrays.compareUnsigned(last, key) <= 0);
        last = key;
        met++;
      }
      assertTrue(met >= atLeast, met + " of " + atLeast);
    } catch (Throwable e) {
      failure.set(e);
    }
  }

  private void startAnew() {
    memtable.free();
    memtable = new Memtable(ledger, ARENA_BYTES, LogPosition.START, sequence);
    model.clear();
    sequence = 0;
  }

  private void goOnInTheNext() {
    Memtable next = new Memtable(ledger, ARENA_BYTES, LogPosition.START, 1, memtable.outlook());
    memtable.free();
    memtable = next;
  }

  @Test
  void conflictsAreFoundInWhatIsInNoOrder() {
    long mark = memtable.mark();
    insert(new byte[] {3});
    insert(new byte[] {1});
    insert(new byte[] {3});
    Iterator<Long> expected = Arrays.asList(1L, 2L, 3L).iterator();
    boolean any =
        memtable.anySince(
            mark,
            (arena, offset, length, tag) -> {
              assertEquals(expected.next(), Tag.sequence(tag));
              return false;
            });
    assertFalse(any);
    assertFalse(expected.hasNext());
    assertTrue(memtable.isDeferring());
  }
}
