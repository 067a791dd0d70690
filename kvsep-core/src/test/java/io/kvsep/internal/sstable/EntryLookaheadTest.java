package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.EntryLookahead;
import io.kvsep.internal.iterator.HeapEntry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.KeyLimit;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.sstable.TableFixture.Entry;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What is ahead of one table, or of several merged, is what steps would come to, in damaged blocks
 * too; and a source that follows stands where steps would have taken it.
 */
final class EntryLookaheadTest {
  private static final int ROUNDS = 1_000;

  /** Of a short run. */
  private static final int DRAWN = 100;

  private interface Round {
    void run(TableFixture fixture, Random random) throws IOException;
  }

  private static void everyRound(Round round) {
    Seeds.some(
        EntryLookaheadTest.class,
        ROUNDS,
        DRAWN,
        random -> {
          try (TableFixture fixture = new TableFixture()) {
            round.run(fixture, random);
          }
        });
  }

  /** Every step but the one into a block is spared where keys are short and plain. */
  @Test
  void plainEntriesAreAllAhead() throws IOException {
    NavigableSet<Entry> model = new TreeSet<>();
    for (int i = 0; i < 5_000; i++) {
      model.add(TableFixture.put("key-%07d".formatted(3 * i), i, "value " + i));
    }
    try (TableFixture fixture = new TableFixture();
        TableReader table = fixture.open(fixture.write(1, TableFixture.options(2048, 16), model));
        InternalIterator source = table.iterator(fixture.ledger)) {
      Walk walk = new Walk(source, new ArrayList<>(model), null, Long.MAX_VALUE);
      int steps = 0;
      for (walk.begin(); walk.isValid(); walk.step()) {
        walk.goAhead(Integer.MAX_VALUE);
        walk.follow();
        steps++;
      }
      assertEquals(table.index().blockCount(), steps);
    }
  }

  @Test
  void aheadIsWhatStepsComeTo() throws IOException {
    everyRound(
        (fixture, random) -> {
          NavigableSet<Entry> model = TableModelTest.randomEntries(random);
          List<TableReader> tables = tables(fixture, random, model);
          try (InternalIterator source = merged(fixture, tables)) {
            List<Entry> entries = new ArrayList<>(model);
            for (int i = 0; i < 3; i++) {
              byte[] limit =
                  random.nextBoolean() ? null : entries.get(random.nextInt(entries.size())).key();
              long sequenceMax =
                  random.nextBoolean()
                      ? Long.MAX_VALUE
                      : Tag.sequence(entries.get(random.nextInt(entries.size())).tag());
              anyWay(fixture, random, new Walk(source, entries, limit, sequenceMax));
            }
          } finally {
            tables.forEach(TableReader::close);
          }
        });
  }

  private static void anyWay(TableFixture fixture, Random random, Walk walk) {
    walk.begin();
    while (walk.isValid()) {
      if (random.nextInt(4) > 0) {
        walk.goAhead(random.nextInt(4) == 0 ? random.nextInt(5) : Integer.MAX_VALUE);
        if (random.nextInt(8) == 0) {
          walk.seekAnew(fixture);
        } else {
          walk.follow();
        }
      }
      if (random.nextInt(10) == 0) {
        walk.turnTwice();
      }
      walk.step();
    }
  }

  /** No entry is foreseen twice, none behind one that was foreseen is missed. */
  @Test
  void foresightGoesOn() throws IOException {
    everyRound(
        (fixture, random) -> {
          NavigableSet<Entry> model = TableModelTest.randomEntries(random);
          TableMeta meta = fixture.write(1, randomOptions(random), model);
          try (TableReader table = fixture.open(meta);
              InternalIterator source = table.iterator(fixture.ledger)) {
            Walk walk = new Walk(source, new ArrayList<>(model), null, Long.MAX_VALUE);
            for (walk.begin(); walk.isValid(); walk.step()) {
              walk.foresee(random, 1 + random.nextInt(20));
              walk.goAhead(random.nextInt(10));
              walk.foresee(random, 1 + random.nextInt(20));
              walk.goAhead(random.nextInt(10));
              walk.follow();
              walk.foresee(random, 1 + random.nextInt(20));
            }
          }
        });
  }

  @Test
  void damageIsFoundWhereStepsFindIt() throws IOException {
    byte[] current = new byte[28];
    ByteBuffer.wrap(current)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(12, TableFixture.STORE.high())
        .putLong(20, TableFixture.STORE.low());
    everyRound(
        (fixture, random) -> {
          NavigableSet<Entry> model = TableModelTest.randomEntries(random);
          TableOptions options = TableFixture.options(64 + random.nextInt(2000), 16);
          TableMeta meta = fixture.write(1, options, model);
          String name = StoreFiles.table(1);
          byte[] damaged =
              new TamperedTable(fixture.storage.contents(name), 1, current)
                  .withOtherBytes(random, 1 + random.nextInt(20))
                  .sealed();
          fixture.storage.replace(name, damaged);
          try (TableReader table = fixture.open(meta);
              InternalIterator plain = table.iterator(fixture.ledger);
              InternalIterator source = table.iterator(fixture.ledger)) {
            List<Entry> entries = new ArrayList<>();
            boolean isSound = addAll(plain, entries);
            if (entries.isEmpty()) {
              return;
            }
            Walk walk = new Walk(source, entries, null, Long.MAX_VALUE);
            walk.begin();
            while (!walk.isLast()) {
              walk.goAhead(random.nextInt(40));
              // What is behind the damage may be anything; only a reader that gets there has the
              // error.
              walk.foreseeDamage(random.nextInt(40));
              walk.follow();
              if (!walk.isLast()) {
                walk.step();
              }
            }
            if (isSound) {
              walk.step();
            } else {
              assertThrows(CorruptionException.class, source::next);
            }
          }
        });
  }

  /** Whether the end was reached, and not damage. */
  private static boolean addAll(InternalIterator source, List<Entry> entries) {
    try {
      for (source.seekToFirst(); source.isValid(); source.next()) {
        entries.add(TableFixture.current(source));
      }
      return true;
    } catch (CorruptionException e) {
      return false;
    }
  }

  private static List<TableReader> tables(
      TableFixture fixture, Random random, NavigableSet<Entry> model) throws IOException {
    List<NavigableSet<Entry>> parts = new ArrayList<>();
    int count = 1 + random.nextInt(4);
    for (int i = 0; i < count; i++) {
      parts.add(new TreeSet<>());
    }
    int run = 1 + random.nextInt(30);
    NavigableSet<Entry> part = parts.get(0);
    for (Entry entry : model) {
      if (random.nextInt(run) == 0) {
        part = parts.get(random.nextInt(count));
      }
      part.add(entry);
    }
    List<TableReader> tables = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      if (!parts.get(i).isEmpty()) {
        tables.add(fixture.open(fixture.write(1 + i, randomOptions(random), parts.get(i))));
      }
    }
    return tables;
  }

  private static TableOptions randomOptions(Random random) {
    int blockBytes = random.nextBoolean() ? 2048 : 64 + random.nextInt(3000);
    return TableFixture.options(blockBytes, 1 + random.nextInt(20), random.nextInt(3) == 0);
  }

  private static InternalIterator merged(TableFixture fixture, List<TableReader> tables) {
    List<InternalIterator> children = new ArrayList<>();
    for (TableReader table : tables) {
      children.add(table.iterator(fixture.ledger));
    }
    return children.size() == 1 ? children.get(0) : new MergingIterator(children, fixture.ledger);
  }

  /** A walk over a source that goes ahead, beside all the entries in a list. */
  private static final class Walk {
    private final InternalIterator source;
    private final List<Entry> entries;
    private final byte @Nullable [] limit;
    private final long sequenceMax;
    private final HeapEntry seen = new HeapEntry();
    private @Nullable EntryLookahead ahead;
    private int at;

    Walk(InternalIterator source, List<Entry> entries, byte @Nullable [] limit, long sequenceMax) {
      this.source = source;
      this.entries = entries;
      this.limit = limit;
      this.sequenceMax = sequenceMax;
    }

    void begin() {
      source.seekToFirst();
      at = 0;
      arrive();
    }

    boolean isValid() {
      return at < entries.size();
    }

    boolean isLast() {
      return at == entries.size() - 1;
    }

    void step() {
      source.next();
      at++;
      arrive();
    }

    /** Back and forth, so that the source turns round; only where it stands. */
    void turnTwice() {
      if (at > 0) {
        source.previous();
        source.next();
        arrive();
      }
    }

    /** To the entry where the walk is, as if there were nothing ahead. */
    void seekAnew(TableFixture fixture) {
      ahead = null;
      fixture.seek(source, entries.get(at).key(), entries.get(at).tag());
      arrive();
    }

    void goAhead(int entriesMax) {
      if (ahead == null) {
        seen.putKey(source, /* agreeing= */ 0);
        EntryLookahead found = source.ahead(limitOfCurrent(), sequenceMax);
        if (found == null || entriesMax == 0 || !found.next(seen)) {
          return;
        }
        ahead = found;
        checkSeen();
        goAhead(entriesMax - 1);
        return;
      }
      for (int i = 0; i < entriesMax && ahead.next(seen); i++) {
        checkSeen();
      }
    }

    void follow() {
      if (ahead != null) {
        source.follow(seen);
        ahead = null;
        arrive();
      }
    }

    void foresee(Random random, int most) {
      List<Entry> told = new ArrayList<>();
      EntryLookahead from = ahead;
      if (from != null && random.nextInt(8) == 0) {
        // A sink that fails has been told nothing, unless there was nothing to tell.
        boolean[] wasTold = {false};
        try {
          from.foresee(
              (tag, region, offset) -> {
                wasTold[0] = true;
                throw new IllegalStateException("a sink that fails");
              });
        } catch (IllegalStateException e) {
          assertTrue(wasTold[0]);
        }
      }
      PrefetchSink sink =
          (tag, region, offset) -> {
            Entry expected = entries.get(at + told.size());
            assertEquals(Tag.kind(expected.tag()), Tag.kind(tag));
            assertArrayEquals(
                expected.payload(), region.getBytes(offset, expected.payload().length));
            told.add(expected);
            return told.size() < most;
          };
      if (from == null) {
        source.foresee(sink);
      } else {
        from.foresee(sink);
      }
    }

    void foreseeDamage(int most) {
      int[] told = {0};
      PrefetchSink sink =
          (tag, region, offset) -> {
            if (told[0] == most) {
              throw new IndexOutOfBoundsException("a pointer that a test finds damaged");
            }
            told[0]++;
            return true;
          };
      if (ahead == null) {
        source.foresee(sink);
      } else {
        ahead.foresee(sink);
      }
    }

    private @Nullable KeyLimit limitOfCurrent() {
      byte[] current = entries.get(at).key();
      if (limit == null || Arrays.compareUnsigned(current, limit) >= 0) {
        return null;
      }
      KeyLimit below = new KeyLimit(limit);
      int differs = Arrays.mismatch(current, limit);
      below.differsAt = differs;
      return below;
    }

    private void checkSeen() {
      Entry before = entries.get(at);
      at++;
      assertTrue(at < entries.size(), "an entry behind the last one");
      Entry expected = entries.get(at);
      Entry found =
          new Entry(
              Arrays.copyOf(seen.key, seen.keyLength),
              seen.tag,
              source.payloadRegion().getBytes(seen.payloadOffset, seen.payloadLength));
      TableFixture.assertSame(expected, found);
      byte[] onHeap = new byte[seen.payloadLength];
      Objects.requireNonNull(ahead).copyPayload(seen, onHeap);
      assertArrayEquals(expected.payload(), onHeap);
      assertTrue(Tag.sequence(seen.tag) <= sequenceMax);
      assertTrue(Tag.kind(seen.tag) == Tag.PUT || Tag.kind(seen.tag) == Tag.POINTER);
      assertFalse(Arrays.equals(before.key(), expected.key()), "a second version");
      if (limit != null && Arrays.compareUnsigned(before.key(), limit) < 0) {
        assertTrue(Arrays.compareUnsigned(expected.key(), limit) < 0, "behind the limit");
      }
    }

    private void arrive() {
      assertEquals(isValid(), source.isValid());
      if (isValid()) {
        TableFixture.assertSame(entries.get(at), TableFixture.current(source));
      }
    }
  }
}
