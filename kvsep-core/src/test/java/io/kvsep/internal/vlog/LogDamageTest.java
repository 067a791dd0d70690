package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import io.kvsep.internal.vlog.LogFixture.Put;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** A log whose bytes are not what was written. Nothing wrong is ever taken for right. */
final class LogDamageTest {
  private static final String NAME = "000001.vlog";

  /** A small segment of four frames, and what is in it. */
  private static final class Sample implements AutoCloseable {
    final LogFixture log = new LogFixture();
    final List<Long> frameStarts = new ArrayList<>();
    final List<Indexed> entries = new ArrayList<>();
    final List<Put> puts = new ArrayList<>();
    final byte[] bytes;

    Sample() throws IOException {
      log.compressionBytesMin = 48;
      log.startSegment(1);
      add(1, LogFixture.put("one", "first"));
      add(
          2,
          LogFixture.delete("two"),
          new Put(300, LogFixture.bytes("three"), LogFixture.bytes("with expiry"), 1L << 40));
      add(4, LogFixture.put("packed", "b".repeat(90)), LogFixture.put("empty", ""));
      log.writer.sync();
      add(6, LogFixture.put("last", "0123456789"));
      bytes = log.contents(1);
      log.reopenForReading(true, bytes.length);
    }

    private void add(long firstSequence, Put... added) throws IOException {
      frameStarts.add(log.writer.end().offset());
      entries.addAll(log.entries(log.append(firstSequence, added)));
      puts.addAll(List.of(added));
    }

    /** The file is this now. */
    void become(byte[] contents, boolean sealed) {
      log.reopenForReading(sealed, bytes.length);
      log.storage.replace(NAME, contents);
    }

    /** How many frames begin at or before an offset; the last of them contains it. */
    int framesUpTo(long offset) {
      int count = 0;
      while (count < frameStarts.size() && frameStarts.get(count) <= offset) {
        count++;
      }
      return count;
    }

    /** Scans until a frame does not hold and returns how many did. */
    int scan(long expectedStop) {
      try (LogScanner scanner = log.scanner(1)) {
        int count = 0;
        int entry = 0;
        long least = 0;
        while (scanner.next(least)) {
          least = scanner.endSequence();
          count++;
          for (Indexed found : log.entries(scanner)) {
            assertEquals(entries.get(entry).tag(), found.tag());
            assertArrayEquals(entries.get(entry).key(), found.key());
            assertArrayEquals(entries.get(entry++).payload(), found.payload());
          }
        }
        assertEquals(expectedStop, scanner.offset());
        assertEquals(scanner.offset(), scanner.endOffset());
        CorruptionException damage = scanner.damage();
        assertTrue(String.valueOf(damage.getMessage()).contains(NAME));
        // Looking for claims never fails either, whatever stands there.
        scanner.claimsFrom(least, 0);
        scanner.claimsFrom(0, Long.MAX_VALUE);
        return count;
      }
    }

    /** Reads all values; those whose record reaches into [from, to) must be refused. */
    void readAll(long from, long to) {
      for (int i = 0; i < entries.size(); i++) {
        Indexed entry = entries.get(i);
        if (!entry.isPointer()) {
          continue;
        }
        long start = recordStart(entry);
        long end = start + recordLength(entry);
        if (from < end && start < to) {
          assertThrows(CorruptionException.class, () -> log.read(entry));
        } else {
          assertArrayEquals(puts.get(i).value(), log.read(entry));
        }
      }
    }

    long recordStart(Indexed entry) {
      return field(entry, 0);
    }

    long recordLength(Indexed entry) {
      return field(entry, 1);
    }

    private long field(Indexed entry, int which) {
      Region region = log.ledger.allocate(MemoryPurpose.READ, 32);
      try {
        region.put(0, entry.payload(), 0, entry.payload().length);
        return which == 0 ? ValuePointer.offset(region, 0) : ValuePointer.recordLength(region, 0);
      } finally {
        region.free();
      }
    }

    @Override
    public void close() {
      log.close();
    }
  }

  @Test
  void soundSegmentIsReadWhole() throws IOException {
    try (Sample sample = new Sample()) {
      for (boolean sealed : new boolean[] {true, false}) {
        sample.become(sample.bytes, sealed);
        assertEquals(4, sample.scan(sample.bytes.length));
        sample.readAll(0, 0);
      }
    }
  }

  @Test
  void everyFlippedBitStopsTheScanAtItsFrameAndFailsItsValue() throws IOException {
    try (Sample sample = new Sample()) {
      for (int offset = 0; offset < sample.bytes.length; offset++) {
        for (int mask : new int[] {1, 2, 0x10, 0x20, 0x80, 0xff}) {
          byte[] damaged = sample.bytes.clone();
          damaged[offset] ^= (byte) mask;
          // Tail reads and mapped reads in turn.
          boolean mapped = offset % 2 == 0;
          sample.become(damaged, mapped);
          checkDamage(sample, offset, mapped);
        }
      }
    }
  }

  @Test
  void frameWithMoreOrFewerRecordsThanItSaysIsRefused() throws IOException {
    try (Sample sample = new Sample()) {
      int start = Math.toIntExact(sample.frameStarts.get(1));
      for (int recordCount : new int[] {0, 1, 2, 3, -1}) {
        byte[] changed = sample.bytes.clone();
        ByteBuffer frame =
            ByteBuffer.wrap(changed, start, 32).slice().order(ByteOrder.LITTLE_ENDIAN);
        frame.putInt(LogFormat.RECORD_COUNT_AT, recordCount);
        CRC32C crc = new CRC32C();
        crc.update(changed, start + 4, LogFormat.FRAME_HEADER_BYTES - 4);
        frame.putInt(0, (int) crc.getValue() ^ LogFormat.place(1, start));
        sample.become(changed, true);
        int whole = recordCount == 2 ? 4 : 1;
        assertEquals(whole, sample.scan(whole == 4 ? sample.bytes.length : start));
      }
    }
  }

  @Test
  void frameOfNumbersThatThereCannotBeIsRefused() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      log.append(1, LogFixture.put("a", "1"));
      long end = log.contents(1).length;
      log.append(Limits.SEQUENCE_MAX, LogFixture.put("b", "2"), LogFixture.put("c", "3"));
      try (LogScanner scanner = log.scanner(1)) {
        assertTrue(scanner.next(0));
        assertFalse(scanner.next(2));
        assertEquals(end, scanner.endOffset());
      }
    }
  }

  @Test
  void everyZeroedByteToTheEndStopsTheScanAtItsFrame() throws IOException {
    try (Sample sample = new Sample()) {
      for (int offset = 40; offset < sample.bytes.length; offset++) {
        byte[] damaged = sample.bytes.clone();
        Arrays.fill(damaged, offset, damaged.length, (byte) 0);
        int first = Arrays.mismatch(damaged, sample.bytes);
        if (first >= 0) {
          sample.become(damaged, true);
          int frame = sample.framesUpTo(first) - 1;
          assertEquals(frame, sample.scan(sample.frameStarts.get(frame)));
        }
      }
    }
  }

  private static void checkDamage(Sample sample, int offset, boolean mapped) {
    if (offset >= LogFormat.SEGMENT_HEADER_BYTES) {
      int frame = sample.framesUpTo(offset) - 1;
      assertEquals(frame, sample.scan(sample.frameStarts.get(frame)));
      sample.readAll(offset, offset + 1L);
      return;
    }
    assertThrows(CorruptionException.class, () -> sample.log.scanner(1));
    if (mapped) {
      // A mapping is looked at from its beginning, a single record in the file is not.
      assertThrows(CorruptionException.class, () -> sample.log.read(sample.entries.get(0)));
    } else {
      sample.readAll(0, 0);
    }
  }

  @Test
  void everyTruncationStopsTheScanAtTheFrameThatIsCut() throws IOException {
    try (Sample sample = new Sample()) {
      for (int length = 0; length < sample.bytes.length; length++) {
        sample.become(Arrays.copyOf(sample.bytes, length), false);
        if (length < LogFormat.SEGMENT_HEADER_BYTES) {
          assertThrows(CorruptionException.class, () -> sample.log.scanner(1));
        } else {
          int whole = sample.framesUpTo(length) - 1;
          assertEquals(whole, sample.scan(sample.frameStarts.get(whole)));
        }
        sample.readAll(length, Long.MAX_VALUE);
        // Mapped, nothing can be said of a file that lacks an end which was synced.
        sample.become(Arrays.copyOf(sample.bytes, length), true);
        sample.readAll(0, Long.MAX_VALUE);
      }
    }
  }

  @Test
  void missingFileAndImpossibleStartAreDamage() throws IOException {
    try (Sample sample = new Sample()) {
      assertThrows(CorruptionException.class, () -> sample.log.scanner(2));
      assertThrows(
          CorruptionException.class,
          () -> LogScanner.open(sample.log.storage, LogFixture.STORE, 1, sample.bytes.length + 1L));
      try (LogScanner scanner =
          LogScanner.open(sample.log.storage, LogFixture.STORE, 1, sample.bytes.length)) {
        assertFalse(scanner.next(0));
      }
      try (LogScanner scanner =
          LogScanner.open(sample.log.storage, LogFixture.STORE, 1, sample.frameStarts.get(2))) {
        assertTrue(scanner.next(0));
        assertEquals(4, scanner.firstSequence());
      }
    }
  }

  @Test
  void recordAtAnotherOffsetIsRefused() throws IOException {
    try (Sample sample = new Sample()) {
      Indexed source = sample.entries.get(0);
      int start = (int) sample.recordStart(source);
      int length = (int) sample.recordLength(source);
      for (int target = 40; target + length <= sample.bytes.length; target++) {
        byte[] moved = sample.bytes.clone();
        System.arraycopy(sample.bytes, start, moved, target, length);
        sample.become(moved, true);
        byte[] pointer = pointer(sample.log, 1, target, length, 5);
        if (target == start) {
          assertArrayEquals(LogFixture.bytes("first"), sample.log.read(pointer, source.key()));
        } else {
          assertThrows(CorruptionException.class, () -> sample.log.read(pointer, source.key()));
        }
      }
    }
  }

  @Test
  void recordAndFrameInAnotherSegmentAreRefused() throws IOException {
    try (Sample sample = new Sample()) {
      LogFixture log = sample.log;
      log.startSegment(2);
      byte[] other = Arrays.copyOf(log.contents(2), sample.bytes.length);
      System.arraycopy(sample.bytes, 40, other, 40, sample.bytes.length - 40);
      log.storage.replace("000002.vlog", other);
      log.reopenForReading(true, sample.bytes.length, other.length);
      try (LogScanner scanner = log.scanner(2)) {
        assertFalse(scanner.next(0));
        assertEquals(40, scanner.offset());
        assertEquals(LogPosition.START, scanner.claimsFrom(0, 0));
      }
      Indexed first = sample.entries.get(0);
      int start = (int) sample.recordStart(first);
      byte[] pointer = pointer(log, 2, start, (int) sample.recordLength(first), 5);
      assertThrows(CorruptionException.class, () -> log.read(pointer, first.key()));
      assertArrayEquals(LogFixture.bytes("first"), log.read(first));
    }
  }

  @Test
  void frameAtAnotherOffsetIsRefused() throws IOException {
    try (Sample sample = new Sample()) {
      int last = Math.toIntExact(sample.frameStarts.get(3));
      int length = sample.bytes.length - last;
      byte[] doubled = Arrays.copyOf(sample.bytes, sample.bytes.length + length);
      System.arraycopy(sample.bytes, last, doubled, sample.bytes.length, length);
      sample.become(doubled, true);
      try (LogScanner scanner = sample.log.scanner(1)) {
        int frames = 0;
        while (scanner.next(0)) {
          frames++;
        }
        assertEquals(4, frames);
        assertEquals(sample.bytes.length, scanner.offset());
      }
    }
  }

  private static byte[] pointer(
      LogFixture log, long segment, long offset, int recordLength, int valueLength) {
    Region region = log.ledger.allocate(MemoryPurpose.READ, 40);
    long end = ValuePointer.put(region, 0, segment, offset, recordLength, valueLength);
    byte[] pointer = region.getBytes(0, (int) end);
    region.free();
    return pointer;
  }

  /** The remains of a failed write stand exactly where the next frame would, whole and sound. */
  @Test
  void remainsOfAFailedWriteAreNotTakenForALaterOne() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      log.append(1, LogFixture.put("before", "b"));
      log.writer.sync();
      log.append(2, LogFixture.put("durable", "d"));
      log.writer.sync();
      LogPosition claimed = log.writer.durable();
      List<Frame> failed = new ArrayList<>();
      log.writer.begin();
      for (int i = 0; i < 3; i++) {
        // Long enough to be written at once instead of being gathered.
        Frame frame = log.frame(List.of(LogFixture.put("x" + i, new byte[40_000])), true);
        log.writer.append(frame, 10 + i, false);
        failed.add(frame);
      }
      // They are cut off as a rule; a crash can bring them back, and a device can refuse.
      log.storage.failNext(Fault.EIO, operation -> operation == Operation.TRUNCATE);
      log.writer.abort();
      assertTrue(log.writer.needsNewSegment(1, 1 << 30));
      Frame after = log.append(20, LogFixture.put("y0", new byte[40_000]));
      assertEquals(failed.get(0).offset(), after.offset());
      assertEquals(failed.get(0).length(), after.length());
      try (LogScanner scanner = log.scanner(1)) {
        assertTrue(scanner.next(0));
        assertTrue(scanner.next(2));
        assertTrue(scanner.next(3));
        assertEquals(20, scanner.firstSequence());
        assertFalse(scanner.next(scanner.endSequence()));
        assertEquals(failed.get(1).offset(), scanner.offset());
        assertEquals(claimed, scanner.durableClaim());
        // Their claims do not count either.
        assertEquals(LogPosition.START, scanner.claimsFrom(21, 0));
        assertEquals(LogPosition.START, scanner.claimsFrom(21, 20));
      }
      try (LogScanner scanner = log.scanner(1)) {
        int frames = 0;
        while (scanner.next(0)) {
          frames++;
        }
        // Without the rule the remains would have passed: nothing else is wrong with them.
        assertEquals(5, frames);
      }
    }
  }

  @Test
  void claimsAreFoundBehindDamage() throws IOException {
    try (Sample sample = new Sample()) {
      LogPosition synced = new LogPosition(1, sample.frameStarts.get(3));
      for (int frame = 0; frame < 3; frame++) {
        byte[] damaged = sample.bytes.clone();
        damaged[Math.toIntExact(sample.frameStarts.get(frame)) + 33] ^= 1;
        sample.become(damaged, true);
        try (LogScanner scanner = sample.log.scanner(1)) {
          long least = 0;
          while (scanner.next(least)) {
            least = scanner.endSequence();
          }
          assertEquals(sample.frameStarts.get(frame), scanner.offset());
          assertEquals(LogPosition.START, scanner.durableClaim());
          assertEquals(synced, scanner.claimsFrom(least, 0));
          assertTrue(synced.compareTo(new LogPosition(1, scanner.offset())) > 0);
        }
      }
      // Damage in the frame that makes the claim: its header still says so, and says no more than
      // that everything in front of it is durable.
      byte[] damaged = sample.bytes.clone();
      damaged[damaged.length - 1] ^= 1;
      sample.become(damaged, true);
      try (LogScanner scanner = sample.log.scanner(1)) {
        for (int i = 0; i < 3; i++) {
          assertTrue(scanner.next(0));
        }
        assertFalse(scanner.next(0));
        assertEquals(synced, scanner.claimsFrom(6, 0));
        assertEquals(synced, new LogPosition(1, scanner.offset()));
        // Unless a table has something of it.
        assertEquals(synced, scanner.claimsFrom(6, 5));
        assertEquals(new LogPosition(1, scanner.offset() + 32), scanner.claimsFrom(6, 6));
        assertEquals(LogPosition.START, scanner.claimsFrom(7, 7));
      }
    }
  }

  @Test
  void claimsReachAcrossSegments() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      log.append(1, LogFixture.put("a", "1"));
      LogPosition end = log.writer.end();
      log.writer.sync();
      log.startSegment(2);
      log.append(2, LogFixture.put("b", "2"));
      log.writer.sync();
      LogPosition secondEnd = log.writer.durable();
      log.startSegment(3);
      log.append(3, LogFixture.put("c", "3"));
      try (LogScanner scanner = log.scanner(2)) {
        assertEquals(end, scanner.claimsFrom(0, 0));
        assertTrue(scanner.next(0));
        assertEquals(end, scanner.durableClaim());
      }
      try (LogScanner scanner = log.scanner(3)) {
        assertEquals(secondEnd, scanner.claimsFrom(3, 0));
        assertEquals(LogPosition.START, scanner.claimsFrom(4, 0));
      }
    }
  }

  @Test
  void claimsOfSegmentsWithLongIdsAreWhole() throws IOException {
    try (LogFixture log = new LogFixture()) {
      long id = (5L << 32) + 1;
      log.startSegment(id - 2);
      log.append(1, LogFixture.put("a", "1"));
      log.writer.sync();
      LogPosition synced = log.writer.durable();
      log.startSegment(id);
      log.append(2, LogFixture.put("b", "2"));
      try (LogScanner scanner = log.scanner(id)) {
        assertTrue(scanner.next(0));
        // The low half of the older id is the higher one.
        assertEquals(synced, scanner.durableClaim());
        assertEquals(Tag.PUT, Tag.kind(log.entries(scanner).get(0).tag()) & 2);
      }
    }
  }
}
