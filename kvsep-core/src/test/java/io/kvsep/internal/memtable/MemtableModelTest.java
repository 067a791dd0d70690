package io.kvsep.internal.memtable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A memtable against a sorted map of the same entries. */
final class MemtableModelTest {
  private static final int[] KINDS = {
    Tag.PUT, Tag.DELETE, Tag.POINTER, Tag.PUT | Tag.EXPIRES, Tag.POINTER | Tag.EXPIRES
  };

  /** Of an entry and its node, besides the tower. */
  private static final int HEADER_BYTES = 16 + 8;

  /** Of as many links as a node can have. */
  private static final int TALLEST_TOWER_BYTES = 14 * 8;

  /** What entries and nodes are aligned by. */
  private static final int PADDING_BYTES_MAX = 3 + 7;

  /** Where an entry stands. */
  @SuppressWarnings("ArrayRecordComponent") // compared through compareTo only
  private record Place(byte[] key, long tag) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      int order = Arrays.compareUnsigned(key, other.key);
      return order != 0 ? order : Long.compare(other.tag, tag);
    }
  }

  /** One memtable with its model. */
  private static final class Run implements AutoCloseable {
    final MemoryLedger ledger = new MemoryLedger();
    final Random random;
    final Memtable memtable;
    final Memtable.Splice splice = new Memtable.Splice();
    final TreeMap<Place, byte[]> model = new TreeMap<>();
    final GrowingRegion keyScratch = new GrowingRegion(ledger, MemoryPurpose.READ);
    final GrowingRegion valueScratch = new GrowingRegion(ledger, MemoryPurpose.READ);
    final List<byte[]> keys = new ArrayList<>();
    boolean late = true;
    long sequence;
    long keyBytes;
    long tombstones;

    Run(long seed, long arenaBytes) {
      random = new Random(seed);
      memtable = new Memtable(ledger, arenaBytes, new LogPosition(3, 40), random.nextLong());
    }

    /** An old key, a new one, or one that begins like an old one. */
    byte[] someKey() {
      byte[] key;
      int choice = random.nextInt(4);
      if (choice == 0 && !keys.isEmpty()) {
        return keys.get(random.nextInt(keys.size()));
      }
      if (choice == 1 && !keys.isEmpty()) {
        byte[] old = keys.get(random.nextInt(keys.size()));
        key = Arrays.copyOf(old, 1 + random.nextInt(old.length + 9));
      } else {
        key = new byte[1 + (random.nextInt(50) == 0 ? random.nextInt(700) : random.nextInt(12))];
        for (int i = 0; i < key.length; i++) {
          key[i] = (byte) (random.nextBoolean() ? random.nextInt(3) : 0xfe + random.nextInt(2));
        }
      }
      keys.add(key);
      return key;
    }

    boolean insert(byte[] key, long tag, byte[] value) {
      long expiry = random.nextLong();
      Entry entry = new Entry();
      entry.keyRegion = keyScratch.ensure(key.length + 1);
      entry.keyOffset = 1;
      entry.keyRegion.put(1, key, 0, key.length);
      entry.keyLength = key.length;
      entry.tag = tag;
      entry.expiresAtMillis = expiry;
      entry.valueRegion = null;
      if (value.length > 0) {
        entry.valueRegion = valueScratch.ensure(value.length + 2);
        entry.valueRegion.put(2, value, 0, value.length);
      }
      entry.valueOffset = 2;
      entry.valueLength = value.length;
      if (!memtable.insert(entry, splice)) {
        return false;
      }
      boolean expires = Tag.expires(Tag.kind(tag));
      ByteBuffer payload =
          ByteBuffer.allocate(value.length + (expires ? 8 : 0)).order(ByteOrder.LITTLE_ENDIAN);
      if (expires) {
        payload.putLong(expiry);
      }
      payload.put(value);
      model.put(new Place(key, tag), payload.array());
      keyBytes += key.length;
      tombstones += Tag.kind(tag) == Tag.DELETE ? 1 : 0;
      return true;
    }

    boolean insertSomething() {
      int kind = KINDS[random.nextInt(KINDS.length)];
      byte[] value = new byte[kind == Tag.DELETE ? 0 : random.nextInt(40)];
      random.nextBytes(value);
      // Mostly in order, as commits come, and sometimes an older number after a newer one.
      sequence += 2;
      long at = late && random.nextInt(5) == 0 ? sequence - 1 - 2L * random.nextInt(3) : sequence;
      byte[] key = someKey();
      long tag = Tag.of(Math.max(1, at), kind);
      Place same = model.ceilingKey(new Place(key, Tag.seek(Tag.sequence(tag))));
      if (same != null
          && Arrays.equals(same.key, key)
          && Tag.sequence(same.tag) == Tag.sequence(tag)) {
        return true;
      }
      return insert(key, tag, value);
    }

    Region inScratch(byte[] key) {
      Region region = keyScratch.ensure(key.length + 3);
      region.put(3, key, 0, key.length);
      return region;
    }

    void checkCounters() {
      assertEquals(model.size(), memtable.entryCount());
      assertEquals(keyBytes, memtable.keyBytes());
      assertEquals(tombstones, memtable.tombstoneCount());
      assertEquals(model.isEmpty(), memtable.isEmpty());
    }

    void checkAll() {
      checkCounters();
      try (InternalIterator iterator = memtable.iterator()) {
        assertFalse(iterator.isValid());
        iterator.seekToFirst();
        for (Map.Entry<Place, byte[]> expected : model.entrySet()) {
          checkAt(iterator, expected);
          iterator.next();
        }
        assertFalse(iterator.isValid());
        iterator.seekToLast();
        for (Map.Entry<Place, byte[]> expected : model.descendingMap().entrySet()) {
          checkAt(iterator, expected);
          iterator.previous();
        }
        assertFalse(iterator.isValid());
      }
    }

    void checkAt(InternalIterator iterator, Map.@Nullable Entry<Place, byte[]> expected) {
      assertEquals(expected != null, iterator.isValid());
      if (expected != null) {
        assertArrayEquals(
            expected.getKey().key,
            iterator.keyRegion().getBytes(iterator.keyOffset(), iterator.keyLength()));
        assertEquals(expected.getKey().tag, iterator.tag());
        assertArrayEquals(
            expected.getValue(),
            iterator.payloadRegion().getBytes(iterator.payloadOffset(), iterator.payloadLength()));
      }
    }

    void walk(int steps) {
      try (InternalIterator iterator = memtable.iterator()) {
        Place at = null;
        for (int i = 0; i < steps; i++) {
          int choice = random.nextInt(8);
          if (choice < 3 && at != null) {
            iterator.next();
            at = model.higherKey(at);
          } else if (choice < 6 && at != null) {
            iterator.previous();
            at = model.lowerKey(at);
          } else {
            Place target = someTarget();
            Region key = inScratch(target.key);
            if (random.nextBoolean()) {
              iterator.seek(key, 3, target.key.length, target.tag);
              at = model.ceilingKey(target);
            } else {
              iterator.seekBefore(key, 3, target.key.length, target.tag);
              at = model.lowerKey(target);
            }
          }
          checkAt(iterator, at == null ? null : model.ceilingEntry(at));
        }
      }
    }

    Place someTarget() {
      byte[] key = someKey();
      return switch (random.nextInt(5)) {
        case 0 -> new Place(key, Tag.MAX);
        case 1 -> new Place(key, 0);
        case 2 -> {
          Place near = model.ceilingKey(new Place(key, Tag.MAX));
          yield near == null ? new Place(key, Tag.MAX) : near;
        }
        default -> new Place(key, Tag.seek(random.nextLong(sequence + 2)));
      };
    }

    int find(byte[] key, long tag) {
      Region region = inScratch(key);
      return memtable.find(region, 3, key.length, KeyHash.of(region, 3, key.length), tag);
    }

    void find() {
      Place target = someTarget();
      int node = find(target.key, target.tag);
      Map.Entry<Place, byte[]> expected = model.ceilingEntry(target);
      if (expected == null || !Arrays.equals(expected.getKey().key, target.key)) {
        assertEquals(Nodes.NULL, node);
        return;
      }
      assertTrue(node != Nodes.NULL);
      Position found = new Position();
      memtable.read(node, found);
      assertEquals(expected.getKey().tag, found.tag);
      assertArrayEquals(
          expected.getValue(), memtable.arena().getBytes(found.payloadOffset, found.payloadLength));
    }

    @Override
    public void close() {
      keyScratch.close();
      valueScratch.close();
      memtable.free();
      assertEquals(0, ledger.totalBytes());
    }
  }

  @Test
  void agreesWithASortedMap() {
    Seeds.run(getClass(), "agreesWithASortedMap", 1, 40, this::agree);
  }

  private void agree(long seed) {
    try (Run run = new Run(seed, 40_000)) {
      // A walk, and whatever comes late, has everything brought in order.
      run.late = seed % 4 == 0;
      int walkEvery = seed % 4 == 1 ? 100 : 1 + run.random.nextInt(1_000);
      if (seed % 4 == 2) {
        run.checkAll();
        run.walk(20);
      }
      int inserts = 0;
      while (run.insertSomething()) {
        if (++inserts % walkEvery == 0) {
          run.walk(50);
        }
        run.find();
      }
      assertEquals(run.model.size(), run.memtable.entryCount());
      run.checkAll();
      run.walk(2000);
      for (int i = 0; i < 500; i++) {
        run.find();
      }
    }
  }

  /** Most bytes of an arena that an entry can take. */
  private static int entryBytesMax(int keyLength, int payloadLength) {
    return HEADER_BYTES + TALLEST_TOWER_BYTES + keyLength + payloadLength + PADDING_BYTES_MAX;
  }

  @Test
  void anEntryWithoutRoomChangesNothingAndASmallerOneStillFits() {
    Seeds.run(
        getClass(),
        "anEntryWithoutRoomChangesNothingAndASmallerOneStillFits",
        1,
        10,
        seed -> {
          try (Run run = new Run(seed, 4096)) {
            boolean room = true;
            while (room) {
              room = run.insertSomething();
            }
            long allocated = run.memtable.allocatedBytes();
            for (int i = 0; i < 20; i++) {
              run.sequence += 2;
              assertFalse(run.insert(run.someKey(), Tag.of(run.sequence, Tag.PUT), new byte[4096]));
            }
            assertEquals(allocated, run.memtable.allocatedBytes());
            run.checkAll();
            while (run.insert(new byte[1], Tag.of(run.sequence += 2, Tag.DELETE), new byte[0])) {
              assertTrue(run.memtable.allocatedBytes() > allocated);
              allocated = run.memtable.allocatedBytes();
            }
            assertTrue(run.memtable.allocatedBytes() <= 4096);
            assertTrue(4096 - run.memtable.allocatedBytes() < entryBytesMax(1, 0));
            run.checkAll();
          }
        });
  }

  @Test
  void anArenaForTheTallestTowerTakesTheEntry() {
    for (int length : new int[] {1, 7, 8, 100, 65_540}) {
      for (long seed = 1; seed <= 50; seed++) {
        try (Run run = new Run(seed, Nodes.FIRST_FREE + entryBytesMax(length, 20))) {
          assertTrue(run.insert(new byte[length], Tag.of(1, Tag.PUT), new byte[20]));
          run.checkAll();
        }
      }
    }
  }

  @Test
  void anArenaTooShortForAnythingRefuses() {
    try (Run run = new Run(1, Nodes.FIRST_FREE)) {
      assertFalse(run.insert(new byte[1], Tag.of(1, Tag.DELETE), new byte[0]));
      run.checkAll();
      assertEquals(new LogPosition(3, 40), run.memtable.logStart());
    }
  }

  @Test
  void theNewestVersionAtOrBelowTheSeekTagIsFound() {
    try (Run run = new Run(1, 1 << 16)) {
      byte[] key = {5};
      for (long sequence : new long[] {10, 30, 20, 40}) {
        run.insert(key, Tag.of(sequence, Tag.PUT), new byte[] {(byte) sequence});
      }
      run.insert(new byte[] {5, 0}, Tag.of(5, Tag.PUT), new byte[] {99});
      run.insert(new byte[] {4, 9}, Tag.of(50, Tag.PUT), new byte[] {98});
      long[][] cases = {{9, 0}, {10, 10}, {19, 10}, {20, 20}, {39, 30}, {40, 40}, {1000, 40}};
      for (long[] expected : cases) {
        int node = run.find(key, Tag.seek(expected[0]));
        assertEquals(expected[1], node == Nodes.NULL ? 0 : Tag.sequence(run.memtable.tag(node)));
      }
    }
  }

  @Test
  void anIteratorSeesWhatIsInsertedWhileItWalks() {
    try (Run run = new Run(1, 1 << 16)) {
      run.insert(new byte[] {1}, Tag.of(1, Tag.PUT), new byte[0]);
      run.insert(new byte[] {3}, Tag.of(2, Tag.PUT), new byte[0]);
      InternalIterator iterator = run.memtable.iterator();
      iterator.seekToFirst();
      run.insert(new byte[] {2}, Tag.of(3, Tag.PUT), new byte[0]);
      iterator.next();
      assertEquals(3, Tag.sequence(iterator.tag()));
      iterator.previous();
      assertEquals(1, Tag.sequence(iterator.tag()));
      iterator.close();
    }
  }
}
