package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.vlog.LogFixture.Put;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** The segment of the format page, byte for byte. */
final class LogFormatTest {
  private static final String SEGMENT =
      "4b565345504c4f4701000000444433332222111188887777666655550100000000000000b53da34c"
          + "624f48674b564631100000000100000007000000000000000000000000000000"
          + "020603006170706c6572656427926638"
          + "fa58b2f04b5646313f0000000300000008000000000000005800000001000000"
          + "010500706561723bc0c5c2"
          + "120805581b000000000000f00000012c6669677377656574330052a4"
          + "22050b4000706c756d1f6101002750616161616171c0d868";

  private static final Put APPLE = LogFixture.put("apple", "red");
  private static final Put PEAR = LogFixture.delete("pear");
  private static final Put FIG =
      new Put(300, LogFixture.bytes("fig"), LogFixture.bytes("sweet"), 7000);
  private static final Put PLUM = LogFixture.put("plum", "a".repeat(64));

  @Test
  void bytesOfASegmentNeverChange() throws IOException {
    try (LogFixture log = written()) {
      assertEquals(SEGMENT, HexFormat.of().formatHex(log.contents(1)));
    }
  }

  @Test
  void bytesOfOldSegmentsStayReadable() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.storage.replace("000001.vlog", HexFormat.of().parseHex(SEGMENT));
      log.compressionBytesMin = 32;
      log.reopenForReading(true, SEGMENT.length() / 2);
      try (LogScanner scanner = log.scanner(1)) {
        assertTrue(scanner.next(0));
        log.check(List.of(APPLE), 7, log.entries(scanner));
        assertEquals(LogPosition.START, scanner.durableClaim());
        assertTrue(scanner.next(8));
        log.check(List.of(PEAR, FIG, PLUM), 8, log.entries(scanner));
        assertEquals(new LogPosition(1, 88), scanner.durableClaim());
        assertFalse(scanner.next(11));
        assertEquals(scanner.fileLength(), scanner.offset());
      }
    }
  }

  private static LogFixture written() throws IOException {
    LogFixture log = new LogFixture();
    log.compressionBytesMin = 32;
    log.startSegment(1);
    log.append(7, APPLE);
    log.writer.sync();
    log.append(8, PEAR, FIG, PLUM);
    return log;
  }

  @Test
  void headerOfAnotherKindVersionStoreOrSegmentIsRefused() throws IOException {
    try (LogFixture log = written()) {
      byte[] sound = log.contents(1);
      refused(log, IncompatibleFormatException.class, resealed(with(sound, 0, 'X')));
      refused(log, IncompatibleFormatException.class, resealed(with(sound, 8, 2)));
      refused(log, IncompatibleFormatException.class, resealed(with(sound, 8, 0)));
      refused(log, IncompatibleFormatException.class, resealed(with(sound, 12, 9)));
      refused(log, IncompatibleFormatException.class, resealed(with(sound, 27, 9)));
      // The file of another segment under this one's name is damage, not a foreign store.
      refused(log, CorruptionException.class, resealed(with(sound, 28, 2)));
      // A flipped bit is damage, not another kind or version or store.
      for (int at = 0; at < LogFormat.SEGMENT_HEADER_BYTES; at++) {
        for (int bit = 0; bit < 8; bit++) {
          refused(log, CorruptionException.class, with(sound, at, sound[at] ^ 1 << bit));
        }
      }
      log.storage.replace("000001.vlog", sound);
      assertThrows(
          IncompatibleFormatException.class,
          () -> LogScanner.open(log.storage, new StoreId(1, 2), 1, 0));
      assertThrows(CorruptionException.class, () -> log.scanner(2));
    }
  }

  private static void refused(
      LogFixture log, Class<? extends RuntimeException> error, byte[] segment) {
    log.storage.replace("000001.vlog", segment);
    assertThrows(error, () -> log.scanner(1));
  }

  private static byte[] with(byte[] bytes, int offset, int value) {
    byte[] changed = bytes.clone();
    changed[offset] = (byte) value;
    return changed;
  }

  /** With a header checksum that holds. */
  private static byte[] resealed(byte[] segment) {
    CRC32C crc = new CRC32C();
    crc.update(segment, 0, 36);
    ByteBuffer.wrap(segment).order(ByteOrder.LITTLE_ENDIAN).putInt(36, (int) crc.getValue());
    return segment;
  }

  @Test
  void placeSpreadsOverNeighbours() {
    int[] places = new int[4096];
    for (int i = 0; i < places.length; i++) {
      places[i] = LogFormat.place(1 + i % 64, 40 + i / 64);
    }
    assertEquals(places.length, Arrays.stream(places).distinct().count());
    assertEquals(0x4c7563c5, LogFormat.place(1, 40));
  }
}
