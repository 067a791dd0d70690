package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.sstable.TableFixture.Entry;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Tables of random entries against a sorted set of the same entries. The keys are drawn to collide:
 * long common beginnings, keys that are the beginning of others, zero bytes at the end, versions of
 * one key that fill several blocks, the shortest and the longest key there can be.
 */
final class TableModelTest {
  private static final int ROUNDS = 240;

  /** Of a short run. */
  private static final int DRAWN = 15;

  private long number;

  private final TableFixture fixture = new TableFixture();

  @AfterEach
  void everythingIsGivenBack() {
    fixture.close();
  }

  @Test
  void lookupsAgreeWithTheModel() {
    everyRound(this::checkLookups);
  }

  @Test
  void fullWalksAgreeWithTheModel() {
    everyRound(this::checkWalks);
  }

  @Test
  void anyMovesAgreeWithTheModel() {
    everyRound(this::checkMoves);
  }

  @Test
  void whatIsForeseenComesNext() {
    everyRound(this::checkForesight);
  }

  @Test
  void propertiesAgreeWithTheModel() {
    everyRound(this::checkMeta);
  }

  private interface Check {
    void run(TableMeta meta, TableReader table, NavigableSet<Entry> model, Random random)
        throws IOException;
  }

  private void everyRound(Check check) {
    Seeds.some(
        TableModelTest.class,
        ROUNDS,
        DRAWN,
        random -> {
          NavigableSet<Entry> model = randomEntries(random);
          int blockBytes = random.nextBoolean() ? 4096 : 64 + random.nextInt(1000);
          TableOptions options =
              TableFixture.options(blockBytes, 1 + random.nextInt(20), random.nextBoolean());
          TableMeta meta = fixture.write(number++, options, model);
          try (TableReader table = fixture.open(meta)) {
            check.run(meta, table, model, random);
          }
        });
  }

  private void checkLookups(
      TableMeta meta, TableReader table, NavigableSet<Entry> model, Random random) {
    for (Entry entry : model) {
      for (long tag : new long[] {entry.tag() + 1, entry.tag(), entry.tag() - 1, Tag.MAX, 0}) {
        checkLookup(table, model, entry.key(), tag);
      }
      checkLookup(table, model, neighbour(entry.key(), random), Tag.MAX);
    }
    for (int i = 0; i < 200; i++) {
      checkLookup(table, model, randomKey(random, 1 + random.nextInt(30)), random.nextLong() >>> 1);
    }
  }

  private void checkLookup(TableReader table, NavigableSet<Entry> model, byte[] key, long seekTag) {
    Entry expected = model.ceiling(target(key, seekTag));
    if (expected != null && !Arrays.equals(expected.key(), key)) {
      expected = null;
    }
    boolean found = fixture.get(table, key, seekTag);
    assertEquals(expected != null, found, () -> target(key, seekTag).toString());
    if (expected != null) {
      assertEquals(expected.tag(), fixture.lookup.tag);
      assertArrayEquals(expected.payload(), fixture.found());
    }
  }

  private void checkWalks(
      TableMeta meta, TableReader table, NavigableSet<Entry> model, Random random) {
    try (InternalIterator iterator = table.iterator(fixture.ledger)) {
      assertFalse(iterator.isValid());
      iterator.seekToFirst();
      byte[] before = {};
      for (Entry entry : model) {
        assertPosition(entry, iterator);
        assertFalse(iterator.keyIsNew() && Arrays.equals(entry.key(), before));
        int shared = iterator.keyShared();
        assertTrue(Arrays.equals(entry.key(), 0, shared, before, 0, shared));
        before = entry.key();
        iterator.next();
      }
      assertFalse(iterator.isValid());
      iterator.seekToLast();
      for (Entry entry : model.descendingSet()) {
        assertPosition(entry, iterator);
        iterator.previous();
      }
      assertFalse(iterator.isValid());
    }
  }

  private void checkForesight(
      TableMeta meta, TableReader table, NavigableSet<Entry> model, Random random) {
    List<Entry> entries = new ArrayList<>(model);
    try (InternalIterator iterator = table.iterator(fixture.ledger)) {
      iterator.seekToFirst();
      for (int i = 0; i < entries.size(); i++) {
        int current = i;
        if (random.nextInt(3) > 0) {
          int most = 1 + random.nextInt(20);
          List<Entry> told = new ArrayList<>();
          if (random.nextInt(4) == 0) {
            failOnTheWay(iterator, random.nextInt(5));
          }
          iterator.foresee(
              (tag, region, offset) -> {
                Entry expected = entries.get(current + told.size());
                assertEquals(expected.tag(), tag);
                assertArrayEquals(
                    expected.payload(), region.getBytes(offset, expected.payload().length));
                told.add(expected);
                return told.size() < most;
              });
          assertFalse(told.isEmpty());
          assertTrue(told.size() <= most);
        }
        assertPosition(entries.get(i), iterator);
        iterator.next();
      }
      assertFalse(iterator.isValid());
    }
  }

  /** A sink may fail: the iterator then stands where it stood, and tells all again. */
  private static void failOnTheWay(InternalIterator iterator, int after) {
    AtomicInteger told = new AtomicInteger();
    try {
      iterator.foresee(
          (tag, region, offset) -> {
            if (told.getAndIncrement() == after) {
              throw new IllegalStateException("a sink that fails");
            }
            return true;
          });
    } catch (IllegalStateException e) {
      // The sink's own.
    }
  }

  private void checkMoves(
      TableMeta meta, TableReader table, NavigableSet<Entry> model, Random random) {
    List<Entry> entries = new ArrayList<>(model);
    Entry current = null;
    try (InternalIterator iterator = table.iterator(fixture.ledger)) {
      for (int i = 0; i < 400; i++) {
        Entry near = entries.get(random.nextInt(entries.size()));
        byte[] key = random.nextBoolean() ? near.key() : neighbour(near.key(), random);
        Entry target = target(key, near.tag() + random.nextInt(3) - 1);
        switch (random.nextInt(current == null ? 4 : 14)) {
          case 0 -> {
            iterator.seekToFirst();
            current = model.first();
          }
          case 1 -> {
            iterator.seekToLast();
            current = model.last();
          }
          case 2 -> {
            fixture.seek(iterator, target.key(), target.tag());
            current = model.ceiling(target);
          }
          case 3 -> {
            fixture.seekBefore(iterator, target.key(), target.tag());
            current = model.lower(target);
          }
          case 4, 5, 6, 7, 8 -> {
            iterator.next();
            current = model.higher(present(current));
          }
          default -> {
            iterator.previous();
            current = model.lower(present(current));
          }
        }
        assertPosition(current, iterator);
      }
    }
  }

  private void checkMeta(
      TableMeta meta, TableReader table, NavigableSet<Entry> model, Random random)
      throws IOException {
    assertEquals(meta, fixture.properties(meta.number()));
    assertEquals(fixture.storage.contents(table.name()).length, meta.fileBytes());
    assertEquals(meta.fileBytes(), table.mappedBytes());
    assertArrayEquals(model.first().key(), meta.smallestKey());
    assertArrayEquals(model.last().key(), meta.largestKey());
    assertEquals(model.size(), meta.entryCount());
    assertEquals(
        model.stream().mapToLong(e -> Tag.sequence(e.tag())).min().orElse(0),
        meta.smallestSequence());
    assertEquals(
        model.stream().mapToLong(e -> Tag.sequence(e.tag())).max().orElse(0),
        meta.largestSequence());
    assertEquals(
        model.stream().filter(e -> Tag.kind(e.tag()) == Tag.DELETE).count(), meta.tombstoneCount());
    assertEquals(model.stream().mapToLong(e -> e.key().length).sum(), meta.keyBytes());
  }

  private static void assertPosition(@Nullable Entry expected, InternalIterator iterator) {
    assertEquals(expected != null, iterator.isValid(), () -> "at " + expected);
    if (expected != null) {
      TableFixture.assertSame(expected, TableFixture.current(iterator));
    }
  }

  private static Entry target(byte[] key, long tag) {
    return new Entry(key, tag, new byte[0]);
  }

  private static Entry present(@Nullable Entry entry) {
    assertTrue(entry != null);
    return entry;
  }

  static NavigableSet<Entry> randomEntries(Random random) {
    NavigableSet<Entry> entries = new TreeSet<>();
    int keyCount = 1 + random.nextInt(random.nextBoolean() ? 10 : 400);
    byte[] common = randomKey(random, random.nextInt(40));
    int lengthMax = 1 + random.nextInt(20);
    for (int i = 0; i < keyCount; i++) {
      byte[] key;
      if (random.nextInt(150) == 0) {
        key = randomKey(random, Limits.STORED_KEY_BYTES_MAX - random.nextInt(3));
      } else if (random.nextInt(20) == 0) {
        key = randomKey(random, 1 + random.nextInt(300));
      } else {
        byte[] rest = randomKey(random, 1 + random.nextInt(lengthMax));
        key = Arrays.copyOf(common, common.length + rest.length);
        System.arraycopy(rest, 0, key, common.length, rest.length);
      }
      int versions = random.nextInt(30) == 0 ? 200 : 1 + random.nextInt(3);
      int sequenceBits = 1 + random.nextInt(55);
      for (int version = 0; version < versions; version++) {
        entries.add(randomEntry(random, key, random.nextLong() >>> (64 - sequenceBits)));
      }
    }
    return entries;
  }

  private static Entry randomEntry(Random random, byte[] key, long sequence) {
    if (random.nextInt(8) == 0) {
      return new Entry(key, Tag.of(sequence, Tag.DELETE), new byte[0]);
    }
    int kind = random.nextInt(8) == 0 ? Tag.PUT | Tag.EXPIRES : Tag.PUT;
    int length = random.nextInt(200) == 0 ? random.nextInt(100 << 10) : random.nextInt(200);
    byte[] payload = new byte[Payload.headerLength(kind) + length];
    random.nextBytes(payload);
    return new Entry(key, Tag.of(sequence, kind), payload);
  }

  /** Bytes out of four values, so that beginnings repeat and the extremes are there. */
  private static byte[] randomKey(Random random, int length) {
    byte[] alphabet = {0, 1, 'x', (byte) 0xff};
    byte[] key = new byte[length];
    for (int i = 0; i < length; i++) {
      key[i] = alphabet[random.nextInt(alphabet.length)];
    }
    return key;
  }

  /** A key a little off: longer, shorter or with another last byte. */
  private static byte[] neighbour(byte[] key, Random random) {
    byte[] near = Arrays.copyOf(key, Math.max(1, key.length + random.nextInt(3) - 1));
    near[near.length - 1] = (byte) (near[near.length - 1] + random.nextInt(3) - 1);
    return near;
  }
}
