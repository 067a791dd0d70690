package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.vlog.RelocationFixture.Sample;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** A relocated file whose bytes are not what was written. Nothing wrong is taken for right. */
final class RelocationDamageTest {
  private static final String NAME = "000003.vlog";

  /** A small relocated file with records of two segments that are gone. */
  private static final class Small implements AutoCloseable {
    final RelocationFixture files = new RelocationFixture();
    final List<Sample> samples = new ArrayList<>();
    final byte[] bytes;

    Small() throws IOException {
      files.log.compressionBytesMin = 32;
      files.startSegment(1);
      samples.add(files.put(LogFixture.put("same", "first of it")));
      samples.add(files.put(LogFixture.put("same", "other of it")));
      samples.add(files.put(LogFixture.put("packed", "p".repeat(100))));
      files.startSegment(2);
      samples.add(files.put(LogFixture.put("other", "value")));
      files.startSegment(4);
      files.relocate(3, samples);
      bytes = files.log.contents(3);
      files.drop(1);
      files.drop(2);
    }

    /** Reads all from a file with these bytes; returns how many could be read. */
    int readAll(byte[] contents) {
      files.log.storage.replace(NAME, contents);
      Segment file = files.list(3, bytes.length, samples);
      int right = 0;
      for (Sample sample : samples) {
        try {
          assertArrayEquals(sample.value(), files.log.read(sample.pointer(), sample.key()));
          right++;
        } catch (CorruptionException e) {
          assertEquals(NAME, e.file());
          assertTrue(e.offset() >= 0 && e.offset() <= bytes.length);
        } catch (IncompatibleFormatException e) {
          assertEquals(NAME, e.file());
        }
      }
      files.log.directory.unlist(3);
      file.free();
      return right;
    }

    @Override
    public void close() {
      files.close();
    }
  }

  @Test
  void aChangedByteIsNeverTakenForRight() throws IOException {
    try (Small small = new Small()) {
      assertEquals(4, small.readAll(small.bytes));
      for (int i = 0; i < small.bytes.length; i++) {
        boolean inRecords = i >= LogFormat.SEGMENT_HEADER_BYTES && i < recordsEnd(small);
        for (int change : new int[] {1, 0x80, 0xff, small.bytes[i]}) {
          byte[] damaged = small.bytes.clone();
          damaged[i] ^= (byte) change;
          if (damaged[i] != small.bytes[i]) {
            // A damaged record is lost alone; with anything else the file is.
            assertEquals(inRecords ? 3 : 0, small.readAll(damaged), "byte " + i);
          }
        }
      }
    }
  }

  private static int recordsEnd(Small small) {
    return LogFormat.SEGMENT_HEADER_BYTES
        + small.samples.stream().mapToInt(small.files::length).sum();
  }

  @Test
  void aShortFileIsRefused() throws IOException {
    try (Small small = new Small()) {
      for (int length = 0; length < small.bytes.length; length++) {
        assertEquals(0, small.readAll(Arrays.copyOf(small.bytes, length)));
        // A hole instead of the end.
        byte[] hole = Arrays.copyOf(Arrays.copyOf(small.bytes, length), small.bytes.length);
        if (!Arrays.equals(hole, small.bytes)) {
          assertEquals(0, small.readAll(hole));
        }
      }
      byte[] longer = Arrays.copyOf(small.bytes, small.bytes.length + 100);
      assertEquals(4, small.readAll(longer), "what stands behind the length is of no matter");
    }
  }

  @Test
  void aLengthThatIsNotThatOfTheFileIsRefused() throws IOException {
    try (Small small = new Small()) {
      for (long length : new long[] {0, 1, 39, 40, 79, 80, 100, small.bytes.length - 1}) {
        Segment file = small.files.open(3, length);
        CorruptionException e =
            assertThrows(CorruptionException.class, () -> file.find(1, 72), "length " + length);
        assertEquals(NAME, e.file());
        file.free();
      }
    }
  }

  @Test
  void aFooterThatContradictsItselfIsRefused() {
    List<Consumer<RelocatedBytes>> errors = new ArrayList<>();
    for (long error :
        new long[] {
          1, -1, 8, -8, 12, -12, 1L << 31, 1L << 32, Long.MAX_VALUE, Long.MIN_VALUE, -64, -65
        }) {
      errors.add(bytes -> bytes.recordsEndError = error);
      errors.add(bytes -> bytes.relocationsEndError = error);
      errors.add(
          bytes -> {
            bytes.recordsEndError = error;
            bytes.relocationsEndError = error;
          });
      if ((int) error != 0) {
        errors.add(bytes -> bytes.segmentCountError = (int) error);
        errors.add(bytes -> bytes.recordCountError = (int) error);
        errors.add(
            bytes -> {
              bytes.recordsEndError = -8 * error;
              bytes.recordCountError = (int) error;
            });
      }
    }
    // One relocation more or less in the first part, as many bytes less or more in the second.
    errors.add(
        bytes -> {
          bytes.relocationsEndError = 24;
          bytes.recordCountError = 3;
          bytes.segmentCountError = -2;
        });
    // Counts that give the right sum in 32 bits only.
    errors.add(bytes -> bytes.recordCountError = 1 << 29);
    for (Consumer<RelocatedBytes> error : errors) {
      RelocatedBytes bytes = new RelocatedBytes().segment(1, 40, 50, 70).segment(2, 60);
      error.accept(bytes);
      refuse(bytes.toBytes(3));
    }
  }

  @Test
  void aDirectoryThatDoesNotAscendIsRefused() {
    refuse(new RelocatedBytes().segment(2, 40).segment(1, 50).toBytes(3));
    refuse(new RelocatedBytes().segment(2, 40).segment(2, 50).toBytes(3));
    refuse(new RelocatedBytes().segment(0, 40).toBytes(3));
    refuse(new RelocatedBytes().segment(-5, 40).toBytes(3));
    refuse(new RelocatedBytes().segment(1, 40).segment(2).toBytes(3));
  }

  private static void refuse(byte[] bytes) {
    try (RelocationFixture files = new RelocationFixture()) {
      files.log.storage.replace(NAME, bytes);
      Segment file = files.open(3, bytes.length);
      CorruptionException e = assertThrows(CorruptionException.class, () -> file.find(1, 40));
      assertEquals(NAME, e.file());
      assertTrue(e.offset() >= LogFormat.SEGMENT_HEADER_BYTES && e.offset() <= bytes.length);
      file.free();
    }
  }

  @Test
  void relocationsOutOfOrderOrOutOfTheFileHarmNothing() {
    try (RelocationFixture files = new RelocationFixture()) {
      byte[] bytes = new RelocatedBytes().segment(1, 900, 40, 40, 4_000_000_000L, 70, 0).toBytes(3);
      files.log.storage.replace(NAME, bytes);
      Segment file = files.open(3, bytes.length);
      files.log.directory.add(file);
      files.log.directory.addHomes(List.of(1L), file);
      byte[] key = {0, 1};
      for (long offset : new long[] {0, 1, 40, 70, 900, 4_000_000_000L, 0xffff_ffffL}) {
        byte[] pointer = files.pointer(1, offset, 20);
        assertThrows(CorruptionException.class, () -> files.log.read(pointer, key));
      }
    }
  }

  @Test
  void theTwoKindsOfFileAreToldApart() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> samples = List.of(files.put("key", 100));
      long end = files.log.writer.end().offset();
      files.startSegment(2);
      long length = files.relocate(3, samples);

      CorruptionException scanned =
          assertThrows(CorruptionException.class, () -> files.log.scanner(3));
      assertEquals(NAME, scanned.file());
      assertEquals(0, scanned.offset());

      files.log.directory.add(files.log.segment(3, length, /* sealed= */ true));
      Sample renamed = files.renamed(samples.get(0), 3, LogFormat.SEGMENT_HEADER_BYTES);
      assertEquals(0, files.checkLost(renamed).offset());

      Segment log = files.open(1, end);
      assertThrows(CorruptionException.class, () -> log.find(1, 72));
      log.free();
    }
  }

  @Test
  void aFileOfAnotherStoreOrUnderAnotherNameIsRefused() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      byte[] bytes = new RelocatedBytes().segment(1, 40).toBytes(3);
      files.log.storage.replace(NAME, bytes);
      files.log.storage.replace("000004.vlog", bytes);
      Segment other = files.open(4, bytes.length);
      assertThrows(CorruptionException.class, () -> other.find(1, 40));
      Segment foreign =
          Segment.openRelocated(
              files.log.storage,
              new StoreId(1, 2),
              3,
              bytes.length,
              files.log.epochs,
              files.log.ledger);
      assertThrows(IncompatibleFormatException.class, () -> foreign.find(1, 40));
      Segment missing = files.open(5, bytes.length);
      assertThrows(StorageException.class, () -> missing.find(1, 40));
    }
  }
}
