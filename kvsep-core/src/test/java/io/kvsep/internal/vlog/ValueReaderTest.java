package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Where values are read from, and that what is read is what the pointer means. */
final class ValueReaderTest {
  @Test
  void shortTailIsReadFromTheFileAndALongOneIsMapped() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Indexed first = one(log, 1, new byte[100]);
      log.storage.clearTrace();
      assertArrayEquals(new byte[100], log.read(first));
      assertEquals(1, count(log, "read "));
      assertEquals(0, count(log, "map "));

      // Enough behind it to be worth a mapping, which then serves everything in front of its end.
      Indexed last = first;
      for (int i = 2; i < 60; i++) {
        last = one(log, i, LogFixture.random(new Random(i), 20_000));
      }
      log.storage.clearTrace();
      assertArrayEquals(LogFixture.random(new Random(59), 20_000), log.read(last));
      log.read(first);
      assertEquals(1, count(log, "map "));
      log.storage.clearTrace();
      assertArrayEquals(new byte[100], log.read(first));
      assertEquals(0, count(log, "map "));
      assertEquals(0, count(log, "read "));

      Indexed tail = one(log, 60, new byte[7]);
      log.storage.clearTrace();
      assertArrayEquals(new byte[7], log.read(tail));
      assertEquals(0, count(log, "map "));
      assertEquals(1, count(log, "read "));
    }
  }

  @Test
  void longRecordIsMappedAtOnce() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      byte[] value = LogFixture.random(new Random(1), 2 << 20);
      Indexed entry = one(log, 1, value);
      log.storage.clearTrace();
      assertArrayEquals(value, log.read(entry));
      assertEquals(1, count(log, "map "));
    }
  }

  /** So that what is written all the time is not mapped all the time; once more is read it is. */
  @Test
  void aLongMappingIsReplacedWhenManyReadsHaveGonePastIt() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Indexed mapped = one(log, 1, new byte[8 << 20]);
      log.read(mapped);
      one(log, 2, new byte[2 << 20]);
      Indexed behind = one(log, 3, new byte[100]);
      log.storage.clearTrace();
      int reads = 0;
      while (count(log, "map ") == 0) {
        assertArrayEquals(new byte[100], log.read(behind));
        reads++;
        assertTrue(reads < 1_000, "the mapping is never replaced");
      }
      assertTrue(reads > 100, "replaced after " + reads + " reads");
      log.read(behind);
      log.storage.clearTrace();
      assertArrayEquals(new byte[100], log.read(behind));
      assertEquals(0, count(log, "map "));
      assertEquals(0, count(log, "read "));
    }
  }

  @Test
  void mappingIsReplacedWhileAReaderIsInTheOldOne() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      one(log, 1, new byte[2 << 20]);
      Segment segment = log.directory.get(1);
      EpochSlot<SlotContext> slot = log.epochs.enter();
      Region old;
      try {
        old = mapped(segment);
        long length = old.length();
        one(log, 2, new byte[2 << 20]);
        assertTrue(mapped(segment).length() > length);
        assertEquals(length, old.length());
        assertEquals(LogFormat.SEGMENT.magicNumber(), old.getLong(0));
      } finally {
        log.epochs.exit(slot);
      }
      log.epochs.collect();
      assertEquals(0, old.length());
    }
  }

  private static Region mapped(Segment segment) {
    Region region = segment.mapped(segment.publishedEnd(), 2 << 20);
    assertTrue(region != null);
    return region;
  }

  @Test
  void sealedSegmentIsReadAfterItsFileWasClosed() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Indexed first = one(log, 1, new byte[100]);
      Indexed second = one(log, 2, new byte[200]);
      log.startSegment(2);
      log.writer.sync();
      assertEquals(List.of("000002.vlog"), log.storage.openFiles());
      assertArrayEquals(new byte[100], log.read(first));
      assertArrayEquals(new byte[200], log.read(second));
      assertEquals(1, log.storage.trace().stream().filter(s -> s.startsWith("map ")).count());
    }
  }

  @Test
  void mappedSegmentOfAnotherStoreIsRefused() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Indexed entry = one(log, 1, new byte[100]);
      long end = log.writer.end().offset();
      log.reopenForReading(true);
      log.directory.add(
          Segment.open(
              log.storage, new StoreId(1, 2), 1, end, /* sealed= */ true, log.epochs, log.ledger));
      assertThrows(IncompatibleFormatException.class, () -> log.read(entry));
      log.reopenForReading(true, end);
      assertArrayEquals(new byte[100], log.read(entry));
    }
  }

  @Test
  void failedReadIsNotDamage() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Indexed first = one(log, 1, new byte[100]);
      log.storage.failNext(Fault.EIO, operation -> operation == Operation.READ);
      assertThrows(StorageException.class, () -> log.read(first));
      assertArrayEquals(new byte[100], log.read(first));
      Indexed mapped = one(log, 2, new byte[2 << 20]);
      log.storage.failNext(Fault.EIO, operation -> operation == Operation.MAP);
      assertThrows(StorageException.class, () -> log.read(mapped));
      assertArrayEquals(new byte[2 << 20], log.read(mapped));
    }
  }

  @Test
  void compressedValuesOfAllLengthsAreRead() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.compressionBytesMin = 1;
      log.startSegment(1);
      int sequence = 1;
      for (int length : new int[] {1, 7, 8, 20, 1000, 65_535, 65_536, 65_537, 3 << 20}) {
        byte[] value = new byte[length];
        new Random(length).nextBytes(value);
        Arrays.fill(value, length / 2, length, (byte) 'z');
        assertArrayEquals(value, log.read(one(log, sequence++, value)));
      }
    }
  }

  @Test
  void pointerThatMeansNothingIsDamage() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Indexed entry = one(log, 1, new byte[100]);
      long end = log.writer.end().offset();
      int length = (int) end - 72;
      byte[] key = entry.key();
      assertArrayEquals(new byte[100], log.read(pointer(log, 1, 72, length), key));
      long[][] wrong = {
        {0, 72, length},
        {2, 72, length},
        {-1, 72, length},
        {Long.MIN_VALUE, 72, length},
        {1, 73, length},
        {1, 71, length},
        {1, 72, length - 1},
        {1, 72, length + 1},
        {1, 72, 0},
        {1, 72, 4},
        {1, 72, Integer.MAX_VALUE},
        {1, end, length},
        {1, end, 0},
        {1, -1, length},
        {1, Long.MAX_VALUE, length},
        {1, Long.MIN_VALUE, length},
        {1, 0, 40},
        {1, 40, 32},
        {1, end - 1, 1},
        {1, 1L << 32, length}
      };
      for (boolean sealed : new boolean[] {false, true}) {
        log.reopenForReading(sealed, end);
        for (long[] p : wrong) {
          byte[] pointer = pointer(log, p[0], p[1], (int) p[2]);
          assertThrows(CorruptionException.class, () -> log.read(pointer, key));
        }
      }
    }
  }

  @Test
  void recordOfAnotherKeyIsDamage() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Indexed entry = one(log, 1, new byte[100]);
      for (String other : List.of("\0k", "\0k10", "\0l1", "\1k1", "x")) {
        byte[] key = LogFixture.bytes(other);
        assertThrows(CorruptionException.class, () -> log.read(entry.payload(), key));
      }
    }
  }

  @Test
  void directoryKnowsSegmentsByIdWithHoles() throws IOException {
    try (LogFixture log = new LogFixture()) {
      SegmentDirectory directory = log.directory;
      assertNull(directory.find(1));
      for (long id : new long[] {7, 3, 9}) {
        directory.add(log.segment(id, 10 * id, true));
      }
      assertEquals(List.of(3L, 7L, 9L), directory.all().stream().map(Segment::id).toList());
      assertEquals(190, directory.bytes());
      for (long id : new long[] {0, 2, 4, 8, 10, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
        assertNull(directory.find(id));
        assertThrows(CorruptionException.class, () -> directory.get(id));
      }
      assertEquals(7, directory.get(7).id());
      assertTrue(directory.unlist(3) != null);
      assertNull(directory.unlist(3));
      assertNull(directory.find(3));
      assertEquals(9, directory.get(9).id());
      assertEquals(160, directory.bytes());
      // One segment in another's place, as after a rewrite.
      directory.add(log.segment(9, 5, true));
      assertEquals(75, directory.bytes());
      assertTrue(directory.unlist(7) != null && directory.unlist(9) != null);
      assertEquals(List.of(), directory.all());
      assertFalse(directory.bytes() > 0);
    }
  }

  private static Indexed one(LogFixture log, int sequence, byte[] value) throws IOException {
    return log.entries(log.append(sequence, LogFixture.put("k" + sequence, value))).get(0);
  }

  private static long count(LogFixture log, String operation) {
    return log.storage.trace().stream().filter(line -> line.startsWith(operation)).count();
  }

  private static byte[] pointer(LogFixture log, long segment, long offset, int recordLength) {
    Region region = log.ledger.allocate(MemoryPurpose.READ, 64);
    long end = ValuePointer.put(region, 0, segment, offset, recordLength, 1);
    byte[] pointer = region.getBytes(0, (int) end);
    region.free();
    return pointer;
  }
}
