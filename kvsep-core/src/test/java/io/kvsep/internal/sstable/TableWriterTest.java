package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableFixture.Entry;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class TableWriterTest {
  private static final TableOptions OPTIONS = TableOptions.defaults(TableFixture.STORE);

  private final TableFixture fixture = new TableFixture();

  @AfterEach
  void everythingIsGivenBack() {
    fixture.close();
  }

  @Test
  void entryOutOfOrderIsRefusedAndLeavesTheTableAsItWas() throws IOException {
    TableMeta meta;
    try (TableWriter writer = writer(1)) {
      fixture.add(writer, TableFixture.put("kb", 5, "v"));
      refuse(writer, TableFixture.put("ka", 6, "v"));
      refuse(writer, TableFixture.put("k", 6, "v"));
      refuse(writer, TableFixture.put("kb", 5, "v"));
      refuse(writer, TableFixture.put("kb", 6, "v"));
      fixture.add(writer, TableFixture.put("kb", 4, "w"));
      fixture.add(writer, TableFixture.put("kba", 9, "x"));
      meta = writer.finish();
    }

    assertEquals(3, meta.entryCount());
    assertEquals(4, meta.smallestSequence());
    assertEquals(9, meta.largestSequence());
  }

  @Test
  void keyKindOrPayloadThatNoTableHoldsIsRefused() throws IOException {
    try (TableWriter writer = writer(1)) {
      byte[] key = {1};
      refuse(writer, new Entry(new byte[0], Tag.of(1, Tag.PUT), key));
      refuse(writer, new Entry(new byte[Limits.STORED_KEY_BYTES_MAX + 1], Tag.of(1, Tag.PUT), key));
      refuse(writer, new Entry(key, Tag.of(1, 0), key));
      refuse(writer, new Entry(key, -1L, key));
      refuse(writer, new Entry(key, Tag.of(1, Tag.PUT | Tag.EXPIRES), new byte[7]));

      assertEquals(0, writer.entryCount());
    }
  }

  @Test
  void emptyTableCannotBeFinished() throws IOException {
    try (TableWriter writer = writer(1)) {
      assertThrows(IllegalStateException.class, writer::finish);
    }
  }

  @Test
  void finishedWriterTakesNothingMore() throws IOException {
    try (TableWriter writer = writer(1)) {
      fixture.add(writer, TableFixture.put("a", 1, "v"));
      writer.finish();

      assertThrows(
          IllegalStateException.class, () -> fixture.add(writer, TableFixture.put("b", 1, "v")));
      assertThrows(IllegalStateException.class, writer::finish);
    }
  }

  @Test
  void closingTwiceDoesNothing() throws IOException {
    TableWriter writer = writer(1);
    fixture.add(writer, TableFixture.put("a", 1, "v"));
    writer.close();
    writer.close();

    assertEquals(0, fixture.ledger.totalBytes());
    assertEquals(List.of(), fixture.storage.openFiles());
  }

  @Test
  void finishedTableSurvivesPowerLoss() throws IOException {
    List<Entry> entries = entries(5000);
    TableMeta meta = fixture.write(1, OPTIONS, entries);
    fixture.storage.syncDirectory();

    try (Storage after = fixture.storage.crashSyncedOnly();
        TableReader table =
            TableReader.open(after, meta, TableFixture.STORE, Readers.unbounded())) {
      assertEquals(entries.size(), count(table));
    }
  }

  @Test
  void refusedWriteFailsTheTableAndFreesEverything() throws IOException {
    List<Entry> entries = entries(20_000);
    fixture.storage.capacityBytes(100_000);
    TableWriter writer = writer(1);
    StorageException refused =
        assertThrows(
            StorageException.class,
            () -> {
              for (Entry entry : entries) {
                fixture.add(writer, entry);
              }
            });

    assertTrue(refused.getCause() instanceof IOException);
    assertThrows(IllegalStateException.class, writer::finish);
    writer.close();
    assertEquals(0, fixture.ledger.totalBytes());
  }

  @Test
  void failureOfAnyOperationIsReportedAndFreesEverything() throws IOException {
    List<Entry> entries = entries(20_000);
    long before = fixture.storage.operationCount();
    fixture.write(1, OPTIONS, entries);
    long operations = fixture.storage.operationCount() - before;
    for (int nth = 1; nth <= operations; nth++) {
      long number = 1L + nth;
      fixture.storage.failAt(nth, Fault.EIO, false);

      assertThrows(Exception.class, () -> fixture.write(number, OPTIONS, entries));
      assertEquals(0, fixture.ledger.totalBytes());
      fixture.storage.clearFaults();
    }
  }

  @Test
  void segmentsAreCountedFromPointers() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      String key = String.format("%04d", i);
      entries.add(fixture.pointer(key, 2, 500 - i % 200, i, 100 + i % 200));
      entries.add(TableFixture.put(key, 1, "inline"));
    }
    TableMeta meta = fixture.write(1, OPTIONS, entries);

    assertEquals(200, meta.segments().size());
    for (int i = 0; i < 200; i++) {
      long segment = 301L + i;
      long recordLength = 100 + (500 - segment);
      assertEquals(new SegmentUse(segment, 5 * recordLength, 5), meta.segments().get(i));
    }
  }

  @Test
  void expiringPointerIsCountedBehindItsExpiry() throws IOException {
    Region payload = fixture.ledger.allocate(MemoryPurpose.READ, 100);
    payload.putLong(0, 777);
    int length = (int) ValuePointer.put(payload, 8, 3, 4, 50, 40);
    Entry entry =
        new Entry(
            TableFixture.bytes("k"),
            Tag.of(1, Tag.POINTER | Tag.EXPIRES),
            payload.getBytes(0, length));
    payload.free();
    TableMeta meta = fixture.write(1, OPTIONS, List.of(entry));

    assertEquals(1, meta.expiringCount());
    assertEquals(777, meta.expiresAtMillisMin());
    assertEquals(777, meta.expiresAtMillisMax());
    assertEquals(List.of(new SegmentUse(3, 50, 1)), meta.segments());
  }

  @Test
  void firstAndLastExpiryAreThoseOfTheEntriesThatExpire() throws IOException {
    Entry late = expiring("a", 300);
    Entry early = expiring("b", 100);
    Entry never = TableFixture.put("c", 1, "value");
    TableMeta meta =
        fixture.write(1, OPTIONS, List.of(late, early, never, TableFixture.delete("d", 1)));

    assertEquals(2, meta.expiringCount());
    assertEquals(100, meta.expiresAtMillisMin());
    assertEquals(300, meta.expiresAtMillisMax());
    assertTrue(meta.hasExpired(100));
    assertFalse(meta.hasExpired(99));
    TableMeta without = fixture.write(2, OPTIONS, List.of(never));
    assertEquals(0, without.expiringCount());
    assertEquals(0, without.expiresAtMillisMin());
    assertEquals(0, without.expiresAtMillisMax());
    assertFalse(without.hasExpired(Long.MAX_VALUE));
  }

  @Test
  void estimateIsCloseToTheFinalLength() throws IOException {
    try (TableWriter writer = writer(1)) {
      for (Entry entry : entries(20_000)) {
        fixture.add(writer, entry);
      }
      long estimate = writer.fileBytesEstimate();
      long actual = writer.finish().fileBytes();

      assertTrue(Math.abs(estimate - actual) < actual / 50, () -> estimate + " against " + actual);
    }
  }

  @Test
  void copiedTableHasTheSameBytes() throws IOException {
    TableMeta first = fixture.write(1, OPTIONS, entries(3000));
    byte[] bytes = fixture.storage.contents(StoreFiles.table(1));
    try (TableReader table = fixture.open(first);
        InternalIterator iterator = table.iterator(fixture.ledger)) {
      fixture.storage.delete(StoreFiles.table(1));
      try (TableWriter writer = writer(1)) {
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          writer.add(iterator);
        }
        assertEquals(first, writer.finish());
      }
    }

    assertArrayEquals(bytes, fixture.storage.contents(StoreFiles.table(1)));
  }

  @Test
  void versionsOfOneKeyMayFillManyBlocks() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (int i = 2000; i > 0; i--) {
      entries.add(TableFixture.put("counter", i, "value " + i));
    }
    TableMeta meta = fixture.write(1, TableFixture.options(256, 16), entries);
    try (TableReader table = fixture.open(meta)) {
      byte[] key = TableFixture.bytes("counter");
      for (int i = 1; i <= 2000; i++) {
        assertTrue(fixture.get(table, key, Tag.seek(i)));
        assertEquals(i, Tag.sequence(fixture.lookup.tag));
      }
      assertFalse(fixture.get(table, key, Tag.seek(0)));
    }
  }

  @Test
  void filesAreWrittenInPiecesAtMultiplesOfTheirLength() throws IOException {
    Random random = new Random(7);
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < 7_000; i++) {
      byte[] value = new byte[random.nextInt(i % 1000 == 0 ? 600_000 : 300)];
      random.nextBytes(value);
      entries.add(new Entry(TableFixture.bytes("" + (10_000 + i)), Tag.of(1, Tag.PUT), value));
    }
    TableMeta meta = fixture.write(1, OPTIONS, entries);
    List<String> expected = new ArrayList<>();
    for (long at = 0; at < meta.fileBytes(); at += Limits.PIECE_BYTES) {
      long length = Math.min(Limits.PIECE_BYTES, meta.fileBytes() - at);
      expected.add("write " + StoreFiles.table(1) + " " + at + "+" + length);
    }
    List<String> trace = new ArrayList<>(fixture.storage.trace());
    trace.removeIf(line -> !line.startsWith("write"));
    assertEquals(expected, trace);
    assertTrue(expected.size() > 1);
    try (TableReader table = fixture.open(meta)) {
      assertEquals(entries.size(), count(table));
      for (Entry entry : entries) {
        assertTrue(fixture.get(table, entry.key(), Tag.MAX));
        assertArrayEquals(entry.payload(), fixture.found());
      }
    }
  }

  @Test
  void keyOutsideItsRegionIsTheCallersMistakeAndNotDamage() throws IOException {
    TableMeta meta = fixture.write(1, OPTIONS, List.of(TableFixture.put("a", 1, "v")));
    Region key = fixture.region(TableFixture.bytes("a"));
    try (TableReader table = fixture.open(meta);
        InternalIterator iterator = table.iterator(fixture.ledger)) {
      assertThrows(IndexOutOfBoundsException.class, () -> iterator.seek(key, 1, 100, Tag.MAX));
    }
    key.free();
  }

  private TableWriter writer(long number) throws IOException {
    return new TableWriter(
        fixture.storage.create(StoreFiles.table(number)), number, OPTIONS, fixture.ledger);
  }

  private void refuse(TableWriter writer, Entry entry) {
    assertThrows(IllegalArgumentException.class, () -> fixture.add(writer, entry));
  }

  private int count(TableReader table) {
    int count = 0;
    try (InternalIterator iterator = table.iterator(fixture.ledger)) {
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        count++;
      }
    }
    return count;
  }

  private static Entry expiring(String key, long expiresAtMillis) {
    byte[] payload =
        ByteBuffer.allocate(9).order(ByteOrder.LITTLE_ENDIAN).putLong(expiresAtMillis).array();
    return new Entry(TableFixture.bytes(key), Tag.of(1, Tag.PUT | Tag.EXPIRES), payload);
  }

  private static List<Entry> entries(int count) {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      entries.add(TableFixture.put(String.format("key%08d", i), 1 + i % 10, "value of " + i));
    }
    return entries;
  }
}
