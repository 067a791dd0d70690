package io.kvsep.internal.io;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.error.KvException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/**
 * The first bytes of a file, little-endian; the same in all versions of all kinds.
 *
 * <pre>
 * offset  bytes  field
 *      0      8  magic          of the {@link FileKind}
 *      8      4  formatVersion
 *     12     16  storeId
 *     28      8  number         of the file; in CURRENT, of the current manifest
 *     36      4  crc32c         of bytes 0 .. 35, not placed
 * </pre>
 *
 * A wrong checksum means damage; version and store are examined only if the checksum is right. A
 * file with another magic is foreign, unless the rest shows that it is a damaged file of a store:
 * the checksum is right with the correct magic, or it is right and the magic is another kind's, or
 * all bytes are zero because they never reached the device.
 */
public record FileHeader(StoreId storeId, long number) {
  public static final int BYTES = 40;

  private static final int VERSION_AT = 8;
  private static final int STORE_ID_AT = 12;
  private static final int NUMBER_AT = 28;
  private static final int CRC_AT = 36;

  /** Start of the magic of every kind, in either case. */
  private static final String FAMILY = "kvsep";

  /** Writes the newest version of the kind. */
  public void put(Region target, FileKind kind, NativeWindow window) {
    target.putLong(0, kind.magicNumber());
    target.putInt(VERSION_AT, kind.version());
    target.putLong(STORE_ID_AT, storeId.high());
    target.putLong(STORE_ID_AT + Long.BYTES, storeId.low());
    target.putLong(NUMBER_AT, number);
    target.putInt(CRC_AT, window.crc32c(target, 0, CRC_AT));
  }

  /**
   * Reads the header at the start of {@code region}, which holds {@code length} bytes of the file.
   * Store and number are left to {@link #require}.
   *
   * @throws CorruptionException if it is damaged or truncated
   * @throws IncompatibleFormatException if the file is of another kind or version
   * @throws InternalError as {@link Region#requirePagesRead} does
   */
  public static FileHeader read(
      Region region, long length, FileKind kind, String file, NativeWindow window) {
    try {
      return sound(region, length, kind, file, window);
    } catch (CorruptionException | IncompatibleFormatException e) {
      // The content of a page that could not be read says nothing about the file.
      Region.requirePagesRead();
      throw e;
    }
  }

  private static FileHeader sound(
      Region region, long length, FileKind kind, String file, NativeWindow window) {
    // The magic first, to distinguish a short foreign file from a truncated one.
    if (length >= Long.BYTES && region.getLong(0) != kind.magicNumber()) {
      byte[] start = new byte[(int) Math.min(length, BYTES)];
      region.get(0, start, 0, start.length);
      throw otherMagic(start, kind, file);
    }
    if (length < BYTES) {
      throw new CorruptionException(
          file, length, "a header of " + BYTES + " bytes", "the end of the file");
    }
    int crc = window.crc32c(region, 0, CRC_AT);
    int stored = region.getInt(CRC_AT);
    if (stored != crc) {
      throw new CorruptionException(
          file, CRC_AT, String.format("crc %08x", crc), String.format("crc %08x", stored));
    }
    int version = region.getInt(VERSION_AT);
    if (version < kind.versionMin() || version > kind.version()) {
      boolean older = Integer.compareUnsigned(version, kind.versionMin()) < 0;
      throw new IncompatibleFormatException(
          file,
          older ? Reason.TOO_OLD : Reason.TOO_NEW,
          String.format(
              "format version %d is of %s release of kvsep, this one reads %d to %d",
              Integer.toUnsignedLong(version),
              older ? "an earlier" : "a later",
              kind.versionMin(),
              kind.version()));
    }
    StoreId storeId =
        new StoreId(region.getLong(STORE_ID_AT), region.getLong(STORE_ID_AT + Long.BYTES));
    return new FileHeader(storeId, region.getLong(NUMBER_AT));
  }

  /**
   * Checks store and number.
   *
   * @throws IncompatibleFormatException if the file is of another store
   * @throws CorruptionException if it has another number
   */
  public void require(StoreId expectedId, long expectedNumber, FileKind kind, String file) {
    if (!storeId.equals(expectedId)) {
      throw new IncompatibleFormatException(
          file,
          Reason.FOREIGN,
          kind.noun() + " of another store, " + storeId + " and not " + expectedId);
    }
    if (number != expectedNumber) {
      throw new CorruptionException(
          file,
          NUMBER_AT,
          kind.noun() + " with number " + expectedNumber,
          "one with number " + number);
    }
  }

  private static KvException otherMagic(byte[] start, FileKind kind, String file) {
    if (!isZero(start) && !isOfStore(start, kind)) {
      return new IncompatibleFormatException(
          file, Reason.FOREIGN, "not " + kind.noun() + " of kvsep");
    }
    HexFormat hex = HexFormat.of();
    return new CorruptionException(
        file,
        0,
        "magic " + hex.formatHex(kind.magic().getBytes(ISO_8859_1)),
        "magic " + hex.formatHex(start, 0, Long.BYTES));
  }

  /** Whether only the magic is wrong. */
  private static boolean isOfStore(byte[] start, FileKind kind) {
    if (start.length < BYTES) {
      return false;
    }
    boolean isAnotherKind =
        new String(start, 0, FAMILY.length(), ISO_8859_1).equalsIgnoreCase(FAMILY)
            && crcHolds(start);
    byte[] mended = start.clone();
    littleEndian(mended).putLong(0, kind.magicNumber());
    return isAnotherKind || crcHolds(mended);
  }

  private static boolean crcHolds(byte[] header) {
    CRC32C crc = new CRC32C();
    crc.update(header, 0, CRC_AT);
    return (int) crc.getValue() == littleEndian(header).getInt(CRC_AT);
  }

  private static ByteBuffer littleEndian(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static boolean isZero(byte[] start) {
    for (byte b : start) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }
}
