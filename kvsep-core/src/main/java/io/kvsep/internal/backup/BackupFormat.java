package io.kvsep.internal.backup;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.error.KvException;
import io.kvsep.internal.base.StoreId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/**
 * Bytes of a backup, little-endian. Authority: docs/formats/backup.md.
 *
 * <pre>
 * backup := header block* trailer
 *
 * header, 56 bytes                         block
 * offset bytes field                       offset bytes field
 *      0     8 magic "KVSEPBAK"                 0     4 length of the payload, from 1
 *      8     4 format version                   4     4 crc32c, chained
 *     12     4 flags: 1 complete                8     … payload
 *     16    16 store id
 *     32     8 since                       trailer, 24 bytes
 *     40     8 until                            0     4 0
 *     48     4 0                                4     4 crc32c, chained
 *     52     4 crc32c of bytes 0 .. 51          8     8 number of records
 *                                              16     8 bytes of all payloads
 * </pre>
 *
 * A <em>chained</em> crc covers the crc before it, four bytes, then all of the block or trailer but
 * the crc itself: so blocks that are missing, doubled or in another order do not pass.
 *
 * <pre>
 * the payloads, one behind the other := record*      numbers are varints, an expiry is eight bytes
 *  1 keyspace  id nameLength name
 *  2 range     fromLength from toLength to           deleted before all that follows
 *  3 delete    keyLength key
 *  4 put       keyLength key valueLength value
 *  5 expiring  keyLength key expiresAtMillis valueLength value
 * </pre>
 *
 * Keys and bounds are stored keys. The records come in the order of their kinds; the last three
 * kinds come keyspace by keyspace, and within each in the order of their keys.
 */
final class BackupFormat {
  /** What errors call the stream, which has no name. */
  static final String NAME = "backup";

  static final int FORMAT_VERSION = 1;
  static final int HEADER_BYTES = 56;
  static final int BLOCK_HEADER_BYTES = 8;
  static final int TRAILER_BYTES = 24;
  static final int BLOCK_BYTES = 64 << 10;

  /** What a reader takes. */
  static final int BLOCK_BYTES_MAX = 1 << 20;

  static final int KEYSPACE = 1;
  static final int RANGE = 2;
  static final int DELETE = 3;
  static final int PUT = 4;
  static final int EXPIRING = 5;

  static final long MAGIC = 0x4b4142504553564bL;
  private static final int COMPLETE = 1;
  private static final int CRC_AT = 52;

  private BackupFormat() {}

  /**
   * What a backup is of.
   *
   * @param complete whether it stands for everything, and not only for what has changed
   * @param since the sequence number from which it goes on
   * @param until the one it reaches
   */
  record Header(StoreId source, boolean complete, long since, long until) {}

  static byte[] encode(Header header) {
    byte[] encoded = new byte[HEADER_BYTES];
    ByteBuffer bytes = buffer(encoded);
    bytes.putLong(MAGIC).putInt(FORMAT_VERSION).putInt(header.complete() ? COMPLETE : 0);
    bytes.putLong(header.source().high()).putLong(header.source().low());
    bytes.putLong(header.since()).putLong(header.until()).putInt(0);
    bytes.putInt(crc(encoded, CRC_AT));
    return encoded;
  }

  /**
   * What a stream is whose first bytes are these, with another magic: a damaged backup where the
   * checksum holds with the right one, else somebody else's.
   */
  static KvException otherMagic(byte[] encoded) {
    byte[] mended = encoded.clone();
    ByteBuffer bytes = buffer(mended).putLong(0, MAGIC);
    if (crc(mended, CRC_AT) != bytes.getInt(CRC_AT)) {
      return new IncompatibleFormatException(NAME, Reason.FOREIGN, "not a backup of kvsep's");
    }
    HexFormat hex = HexFormat.of();
    return new CorruptionException(
        NAME, 0, "magic " + hex.formatHex(mended, 0, 8), "magic " + hex.formatHex(encoded, 0, 8));
  }

  /** Of a backup, whose magic was looked at. */
  static Header header(byte[] encoded) {
    ByteBuffer bytes = buffer(encoded).position(Long.BYTES);
    int version = bytes.getInt();
    int crc = crc(encoded, CRC_AT);
    int stored = bytes.getInt(CRC_AT);
    if (crc != stored) {
      throw new CorruptionException(NAME, CRC_AT, hex(crc), hex(stored));
    }
    int flags = bytes.getInt();
    if (version != FORMAT_VERSION || (flags & ~COMPLETE) != 0) {
      boolean older = Integer.compareUnsigned(version, FORMAT_VERSION) < 0;
      throw new IncompatibleFormatException(
          NAME,
          older ? Reason.TOO_OLD : Reason.TOO_NEW,
          "format version " + version + ", this release reads " + FORMAT_VERSION);
    }
    StoreId source = new StoreId(bytes.getLong(), bytes.getLong());
    Header header = new Header(source, flags == COMPLETE, bytes.getLong(), bytes.getLong());
    if (header.since() < 0 || header.since() > header.until()) {
      throw new CorruptionException(
          NAME, 32, "two ascending sequence numbers", header.since() + ", " + header.until());
    }
    return header;
  }

  static ByteBuffer buffer(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  static int crc(byte[] bytes, int count) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, count);
    return (int) crc.getValue();
  }

  /** The crc of a length and of what follows the crc itself, up to {@code count} bytes in all. */
  static int chained(int before, byte[] bytes, int count) {
    CRC32C crc = new CRC32C();
    byte[] first = new byte[4];
    buffer(first).putInt(0, before);
    crc.update(first);
    crc.update(bytes, 0, 4);
    crc.update(bytes, 8, count - 8);
    return (int) crc.getValue();
  }

  static String hex(int crc) {
    return String.format("crc %08x", crc);
  }
}
