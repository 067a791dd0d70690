package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.KvException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.sstable.TableFixture.Entry;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeSet;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Deleted ranges in a table: what comes back, which bounds they give it, and their damage. */
final class TableRangesTest {
  private static final long NUMBER = 7;
  private static final String NAME = StoreFiles.table(NUMBER);

  private final TableFixture fixture = new TableFixture();

  @AfterEach
  void everythingIsGivenBack() {
    fixture.close();
  }

  @Test
  void rangesComeBackAsTheyWereAndWidenTheTable() {
    Seeds.run(getClass(), "rangesComeBackAsTheyWereAndWidenTheTable", 1, 150, this::roundTrip);
  }

  private void roundTrip(long seed) {
    Random random = new Random(seed);
    RangeTombstones.Builder builder = new RangeTombstones.Builder();
    for (int i = random.nextInt(12); i > 0; i--) {
      builder.add(key(random), key(random), 1 + (random.nextLong() >>> (9 + random.nextInt(50))));
    }
    RangeTombstones ranges = builder.build();
    NavigableSet<Entry> entries = new TreeSet<>();
    for (int i = random.nextInt(6) + (ranges.isEmpty() ? 1 : 0); i > 0; i--) {
      entries.add(new Entry(key(random), Tag.of(1 + random.nextInt(99), Tag.PUT), new byte[3]));
    }
    try {
      TableMeta meta = write(NUMBER + seed, entries, ranges);
      assertEquals(meta, fixture.properties(meta.number()));
      assertEquals(ranges.count(), meta.rangeCount());
      checkBounds(meta, entries, ranges);
      try (TableReader table = fixture.open(meta)) {
        assertSame(ranges, table.rangeTombstones());
        if (!entries.isEmpty()) {
          assertEquals(entries.size(), meta.entryCount());
          assertTrue(fixture.get(table, entries.first().key(), Tag.MAX));
        } else {
          checkOnlyEntry(table, ranges);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * No key that the table says anything about is outside, and the bounds are as narrow as can be.
   */
  private static void checkBounds(
      TableMeta meta, NavigableSet<Entry> entries, RangeTombstones ranges) {
    byte[] smallest = entries.isEmpty() ? ranges.start(0) : entries.first().key();
    byte[] largest = entries.isEmpty() ? ranges.start(0) : entries.last().key();
    long sequenceMin = Long.MAX_VALUE;
    long sequenceMax = 0;
    for (Entry entry : entries) {
      sequenceMin = Math.min(sequenceMin, Tag.sequence(entry.tag()));
      sequenceMax = Math.max(sequenceMax, Tag.sequence(entry.tag()));
    }
    for (int i = 0; i < ranges.count(); i++) {
      if (Arrays.compareUnsigned(ranges.start(i), smallest) < 0) {
        smallest = ranges.start(i);
      }
      byte[] end = ranges.end(i);
      boolean hasPredecessor = end.length > 1 && end[end.length - 1] == 0;
      byte[] last = hasPredecessor ? Arrays.copyOf(end, end.length - 1) : end;
      if (Arrays.compareUnsigned(last, largest) > 0) {
        largest = last;
      }
      for (long sequence : ranges.sequences(i)) {
        sequenceMin = Math.min(sequenceMin, sequence);
        sequenceMax = Math.max(sequenceMax, sequence);
      }
    }
    assertArrayEquals(smallest, meta.smallestKey());
    assertArrayEquals(largest, meta.largestKey());
    assertEquals(sequenceMin, meta.smallestSequence());
    assertEquals(sequenceMax, meta.largestSequence());
  }

  private void checkOnlyEntry(TableReader table, RangeTombstones ranges) {
    try (InternalIterator iterator = table.iterator(fixture.ledger)) {
      iterator.seekToFirst();
      Entry only = TableFixture.current(iterator);
      assertArrayEquals(ranges.start(0), only.key());
      assertEquals(Tag.of(ranges.sequences(0)[0], Tag.DELETE), only.tag());
      iterator.next();
      assertFalse(iterator.isValid());
    }
  }

  @Test
  void boundsMayBeAsLongAsKeysCanBe() throws IOException {
    byte[] longest = new byte[Limits.STORED_KEY_BYTES_MAX];
    Arrays.fill(longest, (byte) 'm');
    byte[] start = longest.clone();
    start[start.length - 1] = 'a';
    RangeTombstones ranges = new RangeTombstones.Builder().add(start, longest, 5).build();
    TableMeta meta = write(NUMBER, new TreeSet<>(), ranges);
    try (TableReader table = fixture.open(meta)) {
      assertSame(ranges, table.rangeTombstones());
    }
  }

  @Test
  void tableWithOtherRangesThanTheManifestSaysIsCorruption() throws IOException {
    TableMeta meta = write(NUMBER, entries(), ranges());
    TableMeta other =
        new TableMeta(
            meta.number(),
            meta.fileBytes(),
            meta.smallestKey(),
            meta.largestKey(),
            meta.smallestSequence(),
            meta.largestSequence(),
            meta.entryCount(),
            meta.tombstoneCount(),
            meta.hiddenCount(),
            meta.rangeCount() - 1,
            meta.keyBytes(),
            meta.expiringCount(),
            meta.expiresAtMillisMin(),
            meta.expiresAtMillisMax(),
            meta.segments());
    assertThrows(CorruptionException.class, () -> fixture.open(other));
  }

  @Test
  void anyFlippedByteIsNoticedOrHarmless() throws IOException {
    TableMeta meta = write(NUMBER, entries(), ranges());
    byte[] sound = fixture.storage.contents(NAME);
    int noticed = 0;
    for (int at = 0; at < sound.length; at++) {
      for (int flip : new int[] {0x01, 0x80, 0xff}) {
        byte[] damaged = sound.clone();
        damaged[at] ^= (byte) flip;
        fixture.storage.replace(NAME, damaged);
        try (TableReader table = fixture.open(meta)) {
          assertSame(ranges(), table.rangeTombstones());
        } catch (KvException e) {
          noticed++;
        }
      }
    }
    assertTrue(noticed > 300);
  }

  /** Under a checksum that holds: answers may be wrong, but nothing but corruption is raised. */
  @Test
  void propertiesThatDoNotHoldTogetherRaiseNothingButCorruption() throws IOException {
    TableMeta meta = write(NUMBER, entries(), ranges());
    byte[] sound = fixture.storage.contents(NAME);
    int footer = sound.length - TableFormat.FOOTER_BYTES;
    ByteBuffer file = ByteBuffer.wrap(sound).order(ByteOrder.LITTLE_ENDIAN);
    int first = file.getInt(footer + TableFormat.FOOTER_PROPERTIES);
    int length = file.getInt(footer + TableFormat.FOOTER_PROPERTIES + 4);
    assertEquals(footer, first + length);
    int noticed = 0;
    for (int at = first; at < footer; at++) {
      for (int value : new int[] {0, 1, 2, 0x7f, 0x80, 0xff}) {
        byte[] forged = sound.clone();
        forged[at] = (byte) value;
        seal(forged, first, footer);
        fixture.storage.replace(NAME, forged);
        try {
          fixture.open(meta).close();
          fixture.properties(NUMBER);
        } catch (CorruptionException e) {
          assertEquals(NAME, e.file());
          noticed++;
        }
        assertEquals(0, fixture.ledger.totalBytes());
      }
    }
    assertTrue(noticed > 100, () -> "only some were noticed");
  }

  @Test
  void rangesOutOfOrderAreCorruption() throws IOException {
    RangeTombstones two =
        new RangeTombstones.Builder()
            .add(new byte[] {'b'}, new byte[] {'c'}, 5)
            .add(new byte[] {'d'}, new byte[] {'e'}, 6)
            .build();
    TableMeta meta = write(NUMBER, entries(), two);
    byte[] sound = fixture.storage.contents(NAME);
    int footer = sound.length - TableFormat.FOOTER_BYTES;
    ByteBuffer file = ByteBuffer.wrap(sound).order(ByteOrder.LITTLE_ENDIAN);
    int first = file.getInt(footer + TableFormat.FOOTER_PROPERTIES);
    // The last bytes: 1 'b' 1 'c' 1 5 and 1 'd' 1 'e' 1 6.
    assertEquals('b', sound[footer - 11]);
    for (byte[] change :
        new byte[][] {{-11, 'e'}, {-9, 'b'}, {-9, 'a'}, {-5, 'a'}, {-3, 'd'}, {-2, 0}, {-12, 0}}) {
      byte[] forged = sound.clone();
      forged[footer + change[0]] = change[1];
      seal(forged, first, footer);
      fixture.storage.replace(NAME, forged);
      assertThrows(
          CorruptionException.class, () -> fixture.open(meta), () -> Arrays.toString(change));
    }
  }

  private static void seal(byte[] file, int first, int footer) {
    long seed = TableFormat.checksumSeed(TableFixture.STORE, NUMBER);
    ByteBuffer bytes = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    CRC32C section = new CRC32C();
    section.update(file, first, footer - first);
    bytes.putInt(
        footer + TableFormat.FOOTER_PROPERTIES + 8,
        TableFormat.checksum((int) section.getValue(), seed, first));
    CRC32C whole = new CRC32C();
    whole.update(file, footer, 48);
    bytes.putInt(footer + 48, TableFormat.checksum((int) whole.getValue(), seed, footer));
  }

  private TableMeta write(long number, NavigableSet<Entry> entries, RangeTombstones ranges)
      throws IOException {
    try (TableWriter writer =
        new TableWriter(
            fixture.storage.create(StoreFiles.table(number)),
            number,
            TableFixture.options(256, 4),
            fixture.ledger)) {
      for (Entry entry : entries) {
        fixture.add(writer, entry);
      }
      return writer.finish(ranges);
    }
  }

  private static NavigableSet<Entry> entries() {
    return new TreeSet<>(List.of(TableFixture.put("b", 9, "v"), TableFixture.put("c", 2, "w")));
  }

  private static RangeTombstones ranges() {
    return new RangeTombstones.Builder()
        .add(TableFixture.bytes("aa"), TableFixture.bytes("m"), 300)
        .add(TableFixture.bytes("f"), TableFixture.bytes("za"), 7, 5)
        .build();
  }

  private static void assertSame(RangeTombstones expected, RangeTombstones found) {
    assertEquals(expected.count(), found.count());
    for (int i = 0; i < expected.count(); i++) {
      assertArrayEquals(expected.start(i), found.start(i));
      assertArrayEquals(expected.end(i), found.end(i));
      assertArrayEquals(expected.sequences(i), found.sequences(i));
    }
  }

  private static byte[] key(Random random) {
    byte[] key = new byte[random.nextInt(40) == 0 ? 3_000 : 1 + random.nextInt(4)];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(3) * 0x7f);
    }
    return key;
  }
}
