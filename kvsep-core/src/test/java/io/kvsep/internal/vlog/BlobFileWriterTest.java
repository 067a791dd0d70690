package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.vlog.RelocationFixture.Sample;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a writer of relocated files takes, refuses and leaves behind. */
final class BlobFileWriterTest {
  @Test
  void aDamagedRecordIsNeverCopied() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample sound = files.put("sound", 30);
      Sample damaged = files.put("damaged", 30);
      files.startSegment(2);
      long start = files.offset(damaged);
      for (int i = 0; i < files.length(damaged); i++) {
        files.log.storage.corrupt("000001.vlog", start + i, b -> b ^ 0x40);
        reopen(files);
        try (BlobFileWriter writer = files.writer(files.log.storage, 3, List.of(sound, damaged))) {
          files.add(writer, sound);
          CorruptionException e =
              assertThrows(CorruptionException.class, () -> files.add(writer, damaged));
          assertEquals("000001.vlog", e.file());
          assertEquals(start, e.offset());
          assertThrows(IllegalStateException.class, () -> files.add(writer, sound));
          assertThrows(IllegalStateException.class, writer::finish);
        }
        files.requireAbsent(3);
        files.log.storage.corrupt("000001.vlog", start + i, b -> b ^ 0x40);
      }
    }
  }

  /** Mappings in memory are copies: only a new one shows what was changed. */
  private static void reopen(RelocationFixture files) {
    Segment old = files.log.directory.unlist(1);
    assertTrue(old != null);
    files.log.directory.add(files.log.segment(1, old.publishedEnd(), /* sealed= */ true));
    old.free();
  }

  @Test
  void aLargeDamagedRecordIsFoundAtItsEnd() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample sample = files.put("large", 3 << 20);
      files.startSegment(2);
      files.log.storage.corrupt("000001.vlog", files.offset(sample) + (2 << 20), b -> b ^ 1);
      try (BlobFileWriter writer = files.writer(files.log.storage, 3, List.of(sample))) {
        CorruptionException e =
            assertThrows(CorruptionException.class, () -> files.add(writer, sample));
        assertEquals(files.offset(sample), e.offset());
      }
      files.requireAbsent(3);
    }
  }

  @Test
  void aPointerThatMeansNothingIsDamage() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample sample = files.put("key", 100);
      long end = files.log.writer.end().offset();
      files.startSegment(2);
      long offset = files.offset(sample);
      int length = files.length(sample);
      long[][] wrong = {
        {9, offset, length},
        {1, offset + 1, length - 1},
        {1, offset, length - 1},
        {1, offset, length + 1},
        {1, offset, 4},
        {1, offset, 0},
        {1, offset, Integer.MAX_VALUE},
        {1, end, 0},
        {1, end, 10},
        {1, -1, length},
        {1, 1L << 32, length},
        {1, Long.MAX_VALUE, length},
      };
      for (long[] w : wrong) {
        byte[] pointer = files.pointer(w[0], w[1], (int) w[2]);
        refuse(files, new Sample(pointer, sample.key(), sample.value()));
      }
      refuse(files, new Sample(sample.pointer(), LogFixture.bytes("\0kez"), sample.value()));
    }
  }

  private static void refuse(RelocationFixture files, Sample wrong) throws IOException {
    try (BlobFileWriter writer =
        new BlobFileWriter(
            files.log.storage,
            LogFixture.STORE,
            3,
            files.log.ledger,
            files.log.directory,
            Map.of(1L, 10L, 9L, 10L))) {
      assertThrows(CorruptionException.class, () -> files.add(writer, wrong));
    }
    files.requireAbsent(3);
  }

  @Test
  void recordsThatWereNotAnnouncedAreRefused() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample first = files.put("first", 100);
      Sample second = files.put("second", 100);
      files.startSegment(2);
      Sample other = files.put("other", 100);
      files.startSegment(4);
      try (BlobFileWriter writer = files.writer(files.log.storage, 3, List.of(first))) {
        assertEquals(files.length(first), files.add(writer, first));
        assertThrows(IllegalArgumentException.class, () -> files.add(writer, second));
        assertThrows(IllegalArgumentException.class, () -> files.add(writer, other));
        assertEquals(1, writer.recordCount());
        files.list(3, writer.finish(), List.of(first));
        assertThrows(IllegalStateException.class, () -> files.add(writer, first));
        assertThrows(IllegalStateException.class, writer::finish);
      }
      files.drop(1);
      files.check(first);
      files.checkLost(second);
    }
  }

  @Test
  void aRecordThatComesAgainIsThereOnce() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample first = files.put("first", 100);
      Sample second = files.put("second", 100);
      files.startSegment(2);
      List<Sample> all = List.of(first, first, second, first);
      try (BlobFileWriter writer = files.writer(files.log.storage, 3, all)) {
        files.add(writer, first);
        long bytes = writer.bytes();
        assertEquals(0, files.add(writer, first));
        assertEquals(bytes, writer.bytes());
        files.add(writer, second);
        // Not in a row: copied, but known by one copy alone.
        files.add(writer, first);
        long length = writer.finish();
        assertEquals(files.log.contents(3).length, length);
        files.list(3, length, all);
      }
      files.drop(1);
      files.check(all);
    }
  }

  @Test
  void recordsThatAreNotMappedYetAreCopied() throws IOException {
    // Around the lengths at which a record is cut into one piece more.
    for (int length : new int[] {1, 10, 131_050, 262_120, 393_190, 600_000}) {
      for (int more = 0; more < 16; more++) {
        try (RelocationFixture files = new RelocationFixture()) {
          files.log.startSegment(1);
          List<Sample> samples = List.of(files.put("key", length + more));
          files.log.storage.clearTrace();
          long bytes = files.relocate(3, samples);
          List<String> trace = files.log.storage.trace();
          assertTrue(trace.stream().anyMatch(line -> line.startsWith("read 000001.vlog ")));
          assertTrue(trace.stream().noneMatch(line -> line.startsWith("map ")));
          files.startSegment(2);
          files.list(3, bytes, samples);
          files.drop(1);
          files.check(samples);
        }
      }
    }
  }

  @Test
  void recordsAreWrittenInPiecesAtMultiplesOfTheirLength() throws IOException {
    Seeds.each(getClass(), 3, BlobFileWriterTest::requirePieces);
  }

  private static void requirePieces(Random random) throws IOException {
    int piece = Limits.PIECE_BYTES;
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> samples = new ArrayList<>();
      for (long bytes = 0; bytes < 4L * piece; bytes += files.length(last(samples))) {
        samples.add(files.putRandom(random, random.nextInt(5) == 0 ? 2 * piece : 5_000));
      }
      files.startSegment(2);
      Collections.shuffle(samples, random);
      files.log.storage.clearTrace();
      long length = files.relocate(3, samples);
      List<String> writes =
          files.log.storage.trace().stream()
              .filter(line -> line.startsWith("write 000003.vlog "))
              .toList();
      long recordsEnd = LogFormat.SEGMENT_HEADER_BYTES;
      for (Sample sample : samples) {
        recordsEnd += files.length(sample);
      }
      int i = 0;
      // The last one takes what is behind it along, a step at most.
      for (long at = 0; recordsEnd - at > 2L * piece; at += piece) {
        assertEquals("write 000003.vlog " + at + "+" + piece, writes.get(i++));
      }
      assertTrue(i >= 2, writes::toString);
      long last = (long) i * piece;
      String whole = "write 000003.vlog " + last + "+" + (recordsEnd - last);
      String first = "write 000003.vlog " + last + "+" + piece;
      assertTrue(List.of(whole, first).contains(writes.get(i)), writes::toString);
      files.list(3, length, samples);
      files.drop(1);
      files.check(samples);
    }
  }

  private static Sample last(List<Sample> samples) {
    return samples.get(samples.size() - 1);
  }

  @Test
  void memoryIsGivenBackWhereTheFileCannotBeMade() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      long bytes = files.log.ledger.totalBytes();
      files.log.storage.failNext(Fault.ENOSPC, operation -> operation == Operation.CREATE);
      assertThrows(IOException.class, () -> files.writer(files.log.storage, 3, List.of()));
      assertEquals(bytes, files.log.ledger.totalBytes());
    }
  }

  @Test
  void aFileWithoutRecordsIsAFile() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      long length = files.relocate(3, List.of());
      assertEquals(LogFormat.SEGMENT_HEADER_BYTES + BlobFileFormat.FOOTER_BYTES, length);
      Segment file = files.open(3, length);
      assertEquals(-1, file.find(1, 40));
      file.free();
    }
  }

  @Test
  void whicheverOperationFailsNothingIsLeft() throws IOException {
    for (Fault fault : Fault.values()) {
      boolean failed = true;
      for (long n = 1; failed; n++) {
        failed = fails(fault, n);
      }
    }
  }

  private static boolean fails(Fault fault, long n) throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> samples = List.of(files.put("a", 400), files.put("b", 600_000));
      files.startSegment(2);
      files.log.storage.failAt(
          n, fault, /* sticky= */ false, operation -> operation != Operation.DELETE);
      boolean failed = false;
      try {
        files.relocate(3, samples);
      } catch (IOException | StorageException e) {
        failed = true;
      }
      files.log.storage.clearFaults();
      if (failed) {
        files.requireAbsent(3);
      }
      files.check(samples);
      return failed;
    }
  }

  @Test
  void aFileThatCannotBeDeletedStaysAsAnOrphan() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> samples = List.of(files.put("a", 400));
      files.startSegment(2);
      try (BlobFileWriter writer = files.writer(files.log.storage, 3, samples)) {
        files.add(writer, samples.get(0));
        files.log.storage.failNext(Fault.EIO, operation -> operation == Operation.DELETE);
      }
      assertTrue(files.log.storage.exists("000003.vlog"));
      assertThrows(CorruptionException.class, () -> files.log.scanner(3));
      IOException taken =
          assertThrows(IOException.class, () -> files.writer(files.log.storage, 3, samples));
      assertTrue(taken.toString().contains("000003.vlog"));
    }
  }

  @Test
  void aFinishedFileSurvivesPowerLoss() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> samples = List.of(files.put("a", 400));
      files.startSegment(2);
      files.relocate(3, samples);
      byte[] bytes = files.log.contents(3);
      files.log.storage.syncDirectory();
      assertEquals(
          List.of(),
          differences(bytes, files.log.storage.crashSyncedOnly().contents("000003.vlog")));
    }
  }

  private static List<Integer> differences(byte[] a, byte[] b) {
    List<Integer> differences = new ArrayList<>();
    for (int i = 0; i < Math.max(a.length, b.length); i++) {
      if (i >= a.length || i >= b.length || a[i] != b[i]) {
        differences.add(i);
      }
    }
    return differences;
  }

  @Test
  void noFileGetsTooLongToBeMapped() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample large = files.put("large", 8 << 20);
      Sample small = files.put("small", 20);
      files.startSegment(2);
      try (BlobFileWriter writer =
          new BlobFileWriter(
              discarding(),
              LogFixture.STORE,
              3,
              files.log.ledger,
              files.log.directory,
              Map.of(1L, 1_000L))) {
        IllegalStateException refused = null;
        while (refused == null) {
          files.add(writer, small);
          refused = refusal(files, writer, large);
        }
        assertTrue(String.valueOf(refused.getMessage()).contains("000003.vlog"));
        assertTrue(writer.bytes() > BlobFileWriter.FILE_BYTES_MAX - (9 << 20));
        assertTrue(writer.finish() <= BlobFileWriter.FILE_BYTES_MAX);
      }
    }
  }

  private static @Nullable IllegalStateException refusal(
      RelocationFixture files, BlobFileWriter writer, Sample sample) throws IOException {
    try {
      files.add(writer, sample);
      return null;
    } catch (IllegalStateException e) {
      return e;
    }
  }

  /** A storage that forgets what is written. */
  private static Storage discarding() {
    ClassLoader loader = BlobFileWriterTest.class.getClassLoader();
    StorageFile file =
        (StorageFile)
            Proxy.newProxyInstance(
                loader, new Class<?>[] {StorageFile.class}, (proxy, method, arguments) -> null);
    return (Storage)
        Proxy.newProxyInstance(
            loader,
            new Class<?>[] {Storage.class},
            (proxy, method, arguments) -> method.getName().equals("create") ? file : null);
  }
}
