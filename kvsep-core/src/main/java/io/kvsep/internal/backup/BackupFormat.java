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
 * Byte format of a backup, little-endian. Specification: docs/formats/backup.md.
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
 * A <em>chained</em> crc covers the four bytes of the preceding crc, then the block or trailer
 * without the crc itself. It detects missing, duplicate and reordered blocks.
 *
 * <pre>
 * the payloads, concatenated := record*        numbers are varints, an expiry is eight bytes
 *  1 keyspace  id nameLength name
 *  2 range     fromLength from toLength to           deleted before all that follows
 *  3 delete    keyLength key
 *  4 put       keyLength key valueLength value
 *  5 expiring  keyLength key expiresAtMillis valueLength value
 * </pre>
 *
 * Keys and bounds are stored keys. Keyspace records come first, then ranges, then deletes and puts
 * ordered by keyspace and key.
 */
final class BackupFormat {
  /** Name of the stream in errors. */
  static final String NAME = "backup";

  static final int FORMAT_VERSION = 1;
  static final int HEADER_BYTES = 56;
  static final int BLOCK_HEADER_BYTES = 8;
  static final int TRAILER_BYTES = 24;
  static final int BLOCK_BYTES = 64 << 10;

  /** Maximum that a reader accepts. */
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
   * Identity and extent of a backup.
   *
   * @param complete whether it is a full backup
   * @param since sequence number at which it starts
   * @param until sequence number that it reaches
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
   * The error for a wrong magic: damage if the checksum is right with the correct magic, else a
   * foreign file.
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

  /** Requires the correct magic. */
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
          "format version "
              + Integer.toUnsignedLong(version)
              + (older ? " is of an earlier" : " is of a later")
              + " release of kvsep, this one reads "
              + FORMAT_VERSION);
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

  /**
   * The chained crc of a block or trailer of {@code count} bytes; {@code before} is the preceding
   * crc.
   */
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
