package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import io.kvsep.internal.vlog.LogFixture.Put;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What was appended is what is scanned, indexed and read, however it came into the file. */
final class LogWriterTest {
  private static final int STAGING_BYTES = 256 << 10;

  @Test
  void groupsOfFramesOfAllLengthsRoundTrip() {
    Seeds.run(getClass(), "groupsOfFramesOfAllLengthsRoundTrip", 1, 12, this::roundTrip);
  }

  private void roundTrip(long seed) {
    Random random = new Random(seed);
    try (LogFixture log = new LogFixture()) {
      log.inlineValueBytesMax = random.nextInt(3) * 50;
      log.compressionBytesMin = 64 + random.nextInt(100);
      List<List<Put>> appended = new ArrayList<>();
      List<Long> firsts = new ArrayList<>();
      List<Integer> segments = new ArrayList<>();
      long sequence = 1;
      for (int segment = 1; segment <= 2; segment++) {
        log.startSegment(segment);
        for (int group = 0; group < 4; group++) {
          List<Frame> frames = new ArrayList<>();
          log.writer.begin();
          int count = group == 0 ? 300 : 1 + random.nextInt(5);
          for (int i = 0; i < count; i++) {
            List<Put> puts = somePuts(random, group == 0 ? 200 : 90_000);
            Frame frame = log.frame(puts, random.nextInt(4) > 0);
            frames.add(frame);
            log.writer.append(frame, sequence, count == 1);
            appended.add(puts);
            firsts.add(sequence);
            segments.add(segment);
            sequence += puts.size() + random.nextInt(2);
          }
          log.writer.publish();
          for (int i = 0; i < count; i++) {
            int index = appended.size() - count + i;
            log.check(appended.get(index), firsts.get(index), log.entries(frames.get(i)));
          }
          if (random.nextBoolean()) {
            log.writer.sync();
          }
        }
      }
      checkScan(log, appended, firsts, segments);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void checkScan(
      LogFixture log, List<List<Put>> appended, List<Long> firsts, List<Integer> segments)
      throws IOException {
    int index = 0;
    long least = 0;
    for (int segment = 1; segment <= 2; segment++) {
      try (LogScanner scanner = log.scanner(segment)) {
        while (scanner.next(least)) {
          assertEquals(segment, segments.get(index));
          assertEquals(firsts.get(index), scanner.firstSequence());
          least = scanner.endSequence();
          assertEquals(firsts.get(index) + appended.get(index).size(), least);
          log.check(appended.get(index), firsts.get(index), log.entries(scanner));
          index++;
        }
        assertEquals(log.contents(segment).length, scanner.offset());
        assertEquals(scanner.fileLength(), scanner.offset());
      }
    }
    assertEquals(appended.size(), index);
  }

  private static List<Put> somePuts(Random random, int valueBytesMax) {
    List<Put> puts = new ArrayList<>();
    int count = 1 + random.nextInt(6);
    for (int i = 0; i < count; i++) {
      byte[] key = LogFixture.random(random, random.nextInt(20));
      int keyspace = random.nextInt(4) == 0 ? 240 + random.nextInt(1000) : random.nextInt(240);
      long expires = random.nextInt(3) == 0 ? random.nextLong() >>> 1 : Put.NEVER;
      puts.add(
          random.nextInt(5) == 0
              ? new Put(keyspace, key, null, Put.NEVER)
              : new Put(keyspace, key, someValue(random, valueBytesMax), expires));
    }
    return puts;
  }

  /** Compressible or not, or with a compressible part. */
  private static byte[] someValue(Random random, int bytesMax) {
    byte[] value = new byte[random.nextInt(4) == 0 ? random.nextInt(bytesMax) : random.nextInt(70)];
    int noise = random.nextInt(value.length + 1);
    System.arraycopy(LogFixture.random(random, noise), 0, value, 0, noise);
    return value;
  }

  /** Bytes do not depend on whether a frame was encoded in memory or while it was written. */
  @Test
  void streamedFramesAreEqualToThoseFromMemory() {
    Seeds.run(getClass(), "streamedFramesAreEqualToThoseFromMemory", 1, 12, this::compareStreamed);
  }

  private void compareStreamed(long seed) {
    Random random = new Random(seed);
    List<Put> puts = new ArrayList<>();
    long left = 2L * STAGING_BYTES;
    while (left > 0) {
      int length =
          switch (random.nextInt(4)) {
            case 0 -> random.nextInt(200);
            case 1 -> STAGING_BYTES - random.nextInt(120);
            case 2 -> 60_000 + random.nextInt(20_000);
            default -> 3 * STAGING_BYTES + random.nextInt(100);
          };
      byte[] value = new byte[length];
      int noise = random.nextInt(length + 1);
      System.arraycopy(LogFixture.random(random, noise), 0, value, 0, noise);
      byte[] key = LogFixture.random(random, random.nextInt(300));
      long expires = random.nextBoolean() ? 1L << 40 : Put.NEVER;
      puts.add(new Put(random.nextInt(300), key, value, expires));
      puts.add(new Put(0, LogFixture.random(random, random.nextInt(65_535)), null, Put.NEVER));
      left -= length;
    }
    byte[][] written = new byte[2][];
    for (int i = 0; i < 2; i++) {
      try (LogFixture log = new LogFixture()) {
        // Streamed values are compressed from this length on only.
        log.compressionBytesMin = 1 << 16;
        log.startSegment(1);
        log.append(1, LogFixture.put("before", "it"));
        log.writer.sync();
        Frame frame = log.frame(puts, i == 0);
        assertEquals(i == 1, frame.isStreamed());
        assertTrue(frame.length() <= Frame.lengthMax(frame.payloadBytes(), frame.recordCount()));
        log.append(frame, 2);
        written[i] = log.contents(1);
        log.check(puts, 2, log.entries(frame));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    assertArrayEquals(written[0], written[1]);
  }

  @Test
  void streamedFrameAroundTheStagingLength() throws IOException {
    for (int length = STAGING_BYTES - 90; length < STAGING_BYTES + 10; length++) {
      try (LogFixture log = new LogFixture()) {
        log.startSegment(1);
        List<Put> puts =
            List.of(LogFixture.put("a", new byte[length]), LogFixture.put("b", new byte[9]));
        Frame frame = log.append(log.frame(puts, false), 1);
        log.check(puts, 1, log.entries(frame));
        try (LogScanner scanner = log.scanner(1)) {
          assertTrue(scanner.next(0));
          assertEquals(scanner.fileLength(), scanner.endOffset());
        }
      }
    }
  }

  @Test
  void putFromScratchIsThePutFromAnArray() throws IOException {
    byte[] compressible = new byte[300];
    for (byte[] value : List.of(new byte[0], LogFixture.bytes("value"), compressible)) {
      byte[][] written = new byte[2][];
      for (int i = 0; i < 2; i++) {
        try (LogFixture log = new LogFixture()) {
          log.compressionBytesMin = 100;
          log.startSegment(1);
          Frame frame = log.frame(List.of(new Put(700, new byte[5], value, Put.NEVER)), true);
          long indexBytes = frame.indexBytes();
          if (i == 1) {
            frame.scratch(5 + value.length).fill(0, 5, (byte) 0);
            frame.scratch(5 + value.length).put(5, value, 0, value.length);
            frame.encodeScratch(700, 5, value.length);
            assertEquals(indexBytes, frame.indexBytes());
            assertEquals(5 + value.length, frame.payloadBytes());
          }
          log.append(frame, 3);
          written[i] = log.contents(1);
        }
      }
      assertArrayEquals(written[0], written[1]);
    }
  }

  @Test
  void valuesAreCompressedFromTheLimitOnAndOnlyWhenTheyAreNotInline() throws IOException {
    assertFalse(compresses(0, 128, new byte[127]));
    assertTrue(compresses(0, 128, new byte[128]));
    assertFalse(compresses(200, 128, new byte[200]));
    assertTrue(compresses(200, 128, new byte[201]));
    assertFalse(compresses(0, 128, LogFixture.random(new Random(1), 4000)));
    assertFalse(compresses(0, Integer.MAX_VALUE, new byte[4000]));
  }

  private static boolean compresses(int inlineMax, int compressionMin, byte[] value)
      throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.inlineValueBytesMax = inlineMax;
      log.compressionBytesMin = compressionMin;
      log.startSegment(1);
      List<Put> puts = List.of(LogFixture.put("k", value));
      Frame frame = log.append(log.frame(puts, true), 1);
      log.check(puts, 1, log.entries(frame));
      boolean flagged = (log.contents(1)[72] & LogFormat.LZ4) != 0;
      assertEquals(flagged, frame.length() < 32 + 8 + value.length);
      return flagged;
    }
  }

  /** A group that failed is repeated frame by frame: every frame must stand a second append. */
  @Test
  void aFrameThatWasGivenUpCanBeAppendedAgain() throws IOException {
    for (boolean inMemory : new boolean[] {true, false}) {
      try (LogFixture log = new LogFixture()) {
        log.compressionBytesMin = 64;
        log.startSegment(1);
        List<Put> first = List.of(LogFixture.put("a", "1"), LogFixture.delete("b"));
        List<Put> second = List.of(LogFixture.put("c", new byte[100_000]));
        Frame one = log.frame(first, inMemory);
        Frame two = log.frame(second, inMemory);
        log.writer.begin();
        log.writer.append(one, 1, false);
        log.writer.append(two, 3, false);
        log.writer.abort();
        log.append(4, LogFixture.put("other", "x"));
        log.writer.begin();
        log.writer.append(two, 5, true);
        log.writer.abort();
        log.append(two, 6);
        log.append(one, 7);
        log.check(second, 6, log.entries(two));
        log.check(first, 7, log.entries(one));
        try (LogScanner scanner = log.scanner(1)) {
          assertTrue(scanner.next(0));
          assertTrue(scanner.next(5));
          log.check(second, 6, log.entries(scanner));
          assertTrue(scanner.next(7));
          log.check(first, 7, log.entries(scanner));
          assertFalse(scanner.next(9));
        }
      }
    }
  }

  @Test
  void failedWriteAtAnyPointLeavesALogThatGoesOn() throws IOException {
    for (Fault fault : List.of(Fault.EIO, Fault.ENOSPC, Fault.SHORT_WRITE)) {
      boolean failed = true;
      for (int nth = 1; failed; nth++) {
        failed = failAndGoOn(fault, nth);
        assertTrue(nth < 20);
      }
    }
  }

  private boolean failAndGoOn(Fault fault, int nth) throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Put before = LogFixture.put("before", "b");
      log.append(1, before);
      LogPosition end = log.writer.end();
      List<Put> small = List.of(LogFixture.put("small", "s"));
      List<Put> large = List.of(LogFixture.put("large", new byte[50_000]));
      List<Put> huge = List.of(LogFixture.put("huge", new byte[600_000]));
      log.storage.failAt(nth, fault, false, operation -> operation == Operation.WRITE);
      boolean failed = false;
      log.writer.begin();
      try {
        log.writer.append(log.frame(small, true), 2, false);
        log.writer.append(log.frame(large, true), 3, false);
        log.writer.append(log.frame(huge, false), 4, false);
        log.writer.append(log.frame(small, true), 5, false);
        log.writer.publish();
      } catch (IOException e) {
        failed = true;
        log.writer.abort();
        assertEquals(end, log.writer.end());
        assertEquals(end.offset(), log.contents(1).length);
        assertFalse(log.writer.needsNewSegment(1, 1 << 30));
      }
      log.storage.clearFaults();
      Put after = LogFixture.put("after", "a");
      log.append(6, after);
      log.writer.sync();
      log.epochs.drain();
      try (LogScanner scanner = log.scanner(1)) {
        assertTrue(scanner.next(0));
        log.check(List.of(before), 1, log.entries(scanner));
        long least = 2;
        for (int i = 0; !failed && i < 4; i++) {
          assertTrue(scanner.next(least));
          least = scanner.endSequence();
        }
        assertTrue(scanner.next(least));
        log.check(List.of(after), 6, log.entries(scanner));
        assertFalse(scanner.next(7));
      }
      return failed;
    }
  }

  @Test
  void syncMakesEverythingPublishedDurableInAllSegments() throws IOException {
    CrashableStorage storage = new CrashableStorage();
    try (LogFixture log = new LogFixture(storage)) {
      log.startSegment(1);
      assertTrue(log.writer.isDirty());
      log.append(1, LogFixture.put("a", "1"));
      log.startSegment(2);
      log.startSegment(3);
      log.append(2, LogFixture.put("b", "2"));
      log.writer.sync();
      assertFalse(log.writer.isDirty());
      assertEquals(log.writer.end(), log.writer.durable());
      long syncs = log.writer.syncs();
      log.writer.sync();
      assertEquals(syncs, log.writer.syncs());
      log.append(3, LogFixture.put("c", "3"));
      assertTrue(log.writer.isDirty());
      byte[][] written = {log.contents(1), log.contents(2), log.contents(3)};
      CrashableStorage after = storage.crashSyncedOnly();
      assertArrayEquals(written[0], after.contents("000001.vlog"));
      assertArrayEquals(written[1], after.contents("000002.vlog"));
      assertArrayEquals(
          Arrays.copyOf(written[2], (int) log.writer.durable().offset()),
          after.contents("000003.vlog"));
    }
  }

  @Test
  void failedSyncPromisesNothing() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      log.append(1, LogFixture.put("a", "1"));
      log.startSegment(2);
      log.append(2, LogFixture.put("b", "2"));
      LogPosition before = log.writer.durable();
      for (int nth = 1; nth <= 2; nth++) {
        log.storage.failAt(nth, Fault.EIO, false, operation -> operation == Operation.SYNC);
        assertThrows(IOException.class, log.writer::sync);
        assertEquals(before, log.writer.durable());
        assertTrue(log.writer.isDirty());
        log.storage.clearFaults();
      }
    }
  }

  @Test
  void segmentThatCannotBeMadeLeavesNoFile() throws IOException {
    try (LogFixture log = new LogFixture()) {
      for (Fault fault : List.of(Fault.EIO, Fault.ENOSPC, Fault.SHORT_WRITE)) {
        for (int nth = 1; nth <= 2; nth++) {
          log.storage.failAt(nth, fault, false);
          assertThrows(IOException.class, () -> log.writer.createSegment(1));
          log.storage.clearFaults();
          assertEquals(List.of(), log.storage.list());
          assertEquals(List.of(), log.storage.openFiles());
        }
      }
      assertTrue(log.writer.needsNewSegment(1, 1 << 20));
      assertEquals(LogPosition.START, log.writer.end());
    }
  }

  @Test
  void aFrameLongerThanASegmentGetsOneOfItsOwn() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      assertFalse(log.writer.needsNewSegment(1000, 100));
      log.append(1, LogFixture.put("a", "1"));
      // The end of the segment has to find room as well.
      long left = 1000 - log.writer.end().offset() - LogFormat.FRAME_HEADER_BYTES;
      assertFalse(log.writer.needsNewSegment(left, 1000));
      assertTrue(log.writer.needsNewSegment(left + 1, 1000));
    }
  }

  @Test
  void recoveredLogGoesOnWhereItEnded() throws IOException {
    CrashableStorage storage = new CrashableStorage();
    try (LogFixture log = new LogFixture(storage)) {
      log.startSegment(1);
      log.append(1, LogFixture.put("a", "1"));
      log.startSegment(2);
      log.append(2, LogFixture.put("b", "2"));
    }
    try (LogFixture log = new LogFixture(storage)) {
      long end = log.contents(2).length;
      Segment first = log.segment(1, log.contents(1).length, /* sealed= */ true);
      Segment second = log.segment(2, end, /* sealed= */ false);
      log.directory.add(first);
      log.directory.add(second);
      log.writer.resume(List.of(first, second), 2);
      assertTrue(log.writer.isDirty());
      assertEquals(new LogPosition(2, end), log.writer.end());
      Frame frame = log.append(3, LogFixture.put("c", "3"));
      assertEquals(end, frame.offset());
      log.writer.sync();
      assertEquals(log.writer.end(), log.writer.durable());
      CrashableStorage after = storage.crashSyncedOnly();
      assertEquals(2, after.list().size());
      assertEquals(log.writer.end().offset(), after.contents("000002.vlog").length);
    }
  }

  @Test
  void indexSaysTheSameAfterACommitAndAfterARestart() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.inlineValueBytesMax = 10;
      log.compressionBytesMin = 100;
      log.startSegment(1);
      List<Put> puts =
          List.of(
              LogFixture.put("inline", new byte[10]),
              LogFixture.put("pointer", new byte[11]),
              LogFixture.put("packed", new byte[200]),
              new Put(250, LogFixture.bytes("ttl"), new byte[0], 99),
              LogFixture.delete("gone"));
      Frame frame = log.append(log.frame(puts, true), 5);
      List<Indexed> committed = log.entries(frame);
      try (LogScanner scanner = log.scanner(1)) {
        assertTrue(scanner.next(0));
        List<Indexed> replayed = log.entries(scanner);
        assertEquals(committed.size(), replayed.size());
        for (int i = 0; i < committed.size(); i++) {
          assertEquals(committed.get(i).tag(), replayed.get(i).tag());
          assertArrayEquals(committed.get(i).payload(), replayed.get(i).payload());
          assertEquals(i == 1 || i == 2, committed.get(i).isPointer());
        }
      }
      long indexBytes =
          committed.stream().mapToLong(e -> e.key().length + 8L + e.payload().length).sum();
      assertTrue(indexBytes <= frame.indexBytes());
      assertEquals(Tag.PUT | Tag.EXPIRES, Tag.kind(committed.get(3).tag()));
    }
  }

  /** Recovery did so once, since it counted frames alone. */
  @Test
  void aNumberThatAnEndSkipsMayBeGivenOutAgain() throws IOException {
    List<CorruptionException> damage = new ArrayList<>();
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      log.append(1, LogFixture.put("a", "first"));
      log.writer.begin();
      log.writer.append(log.frame(List.of(LogFixture.put("b", "failed")), true), 2, false);
      log.writer.abort();
      log.writer.endSegment();
      log.startSegment(2);
      log.append(2, LogFixture.put("c", "second"));
      long next = 0;
      for (int segment = 1; segment <= 2; segment++) {
        AuditSink sink =
            new AuditSink() {
              @Override
              public void record(Region region, RecordView record, long offset, long sequence) {}

              @Override
              public void damaged(long from, long to, CorruptionException what) {
                damage.add(what);
              }
            };
        SegmentAudit.Result result =
            SegmentAudit.run(
                log.storage, LogFixture.STORE, segment, -1, next, false, sink, () -> {});
        assertEquals(1, result.records());
        next = result.endSequence();
      }
      assertEquals(3, next);
    }
    assertEquals(List.of(), damage);
  }
}
