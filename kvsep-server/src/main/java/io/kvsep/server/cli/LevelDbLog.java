package io.kvsep.server.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/**
 * Verifies logs of LevelDB, because LevelDB leaves damaged records out and goes on.
 *
 * <pre>
 * log    := block*        blocks of 32 KiB, the last one may be shorter
 * block  := chunk* zeros  fewer zeros than a chunk has bytes before its data
 * chunk  := crc:u32       masked crc32c of type and data
 *           length:u16    bytes of data
 *           type:u8       1 a whole record; 2 first, 3 middle, 4 last part of one
 *           data
 * </pre>
 *
 * <p>A crash leaves an incomplete last chunk, or zeros instead of one. Whatever follows, a chunk
 * that is not sound is damage.
 */
final class LevelDbLog {
  private static final int BLOCK_BYTES = 32 << 10;
  private static final int HEADER_BYTES = 7;
  private static final int LENGTH_AT = 4;
  private static final int TYPE_AT = 6;
  private static final int WHOLE = 1;
  private static final int FIRST = 2;
  private static final int LAST = 4;
  private static final int CRC_MASK_DELTA = 0xa282ead8;

  private final CRC32C crc = new CRC32C();
  private boolean isInRecord;

  private LevelDbLog() {}

  /**
   * Copies a log without a torn end, about which LevelDB would print a line.
   *
   * @throws IOException if a chunk in front of the end is damaged; the target may exist
   */
  static void copy(Path log, Path target) throws IOException {
    try (InputStream content = Files.newInputStream(log)) {
      Files.copy(content, target);
    }
    long length = new LevelDbLog().length(target);
    try (FileChannel channel = FileChannel.open(target, StandardOpenOption.WRITE)) {
      channel.truncate(length);
    }
  }

  /** Up to the end of the last record that is complete. */
  private long length(Path log) throws IOException {
    long recordsEnd = 0;
    try (InputStream content = Files.newInputStream(log)) {
      for (long offset = 0; ; offset += BLOCK_BYTES) {
        ByteBuffer block =
            ByteBuffer.wrap(content.readNBytes(BLOCK_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
        int at = 0;
        while (isSound(block, at) && isInOrder(block.get(at + TYPE_AT))) {
          at += HEADER_BYTES + length(block, at);
          recordsEnd = isInRecord ? recordsEnd : offset + at;
        }
        boolean isWhole = at + HEADER_BYTES > block.capacity();
        if (!isWhole && !(isTorn(block, at) && isZero(content))) {
          throw new IOException(
              "LevelDB: " + log.getFileName() + " is damaged at offset " + (offset + at));
        }
        if (!isWhole || block.capacity() < BLOCK_BYTES) {
          return recordsEnd;
        }
      }
    }
  }

  private static int length(ByteBuffer block, int at) {
    return Short.toUnsignedInt(block.getShort(at + LENGTH_AT));
  }

  private boolean isSound(ByteBuffer block, int at) {
    int most = block.capacity() - at - HEADER_BYTES;
    if (most < 0 || length(block, at) > most) {
      return false;
    }
    int type = block.get(at + TYPE_AT);
    if (type < WHOLE || type > LAST) {
      return false;
    }
    crc.reset();
    crc.update(block.slice(at + TYPE_AT, 1 + length(block, at)));
    return block.getInt(at) == Integer.rotateRight((int) crc.getValue(), 15) + CRC_MASK_DELTA;
  }

  private boolean isInOrder(int type) {
    boolean begins = type == WHOLE || type == FIRST;
    if (begins == isInRecord) {
      return false;
    }
    isInRecord = type != WHOLE && type != LAST;
    return true;
  }

  /** Whether a chunk reaches beyond all that was written, and no sound one follows. */
  private boolean isTorn(ByteBuffer block, int at) {
    int end = block.capacity();
    while (end > at && block.get(end - 1) == 0) {
      end--;
    }
    if (end - at >= HEADER_BYTES && length(block, at) <= end - at - HEADER_BYTES) {
      return false;
    }
    // A damaged length may reach that far, too.
    for (int next = at + 1; next < end; next++) {
      if (isSound(block, next)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isZero(InputStream content) throws IOException {
    while (true) {
      byte[] bytes = content.readNBytes(BLOCK_BYTES);
      if (bytes.length == 0) {
        return true;
      }
      for (byte each : bytes) {
        if (each != 0) {
          return false;
        }
      }
    }
  }
}
