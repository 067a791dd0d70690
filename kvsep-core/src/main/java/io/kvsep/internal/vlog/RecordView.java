package io.kvsep.internal.vlog;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Lz4;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * Decoded fields of one record. Offsets refer to the region last decoded, which it does not own.
 * Mutable. Not thread safe.
 */
public final class RecordView {
  /** As {@link RecordSource#kind}. */
  public int kind;

  public boolean compressed;
  public int length;
  public long keyOffset;
  public int keyLength;

  /** Of the value as it is stored; the value follows the key. */
  public int storedLength;

  public int valueLength;
  long start;

  /** Length of the last varint. */
  private int varintBytes;

  /**
   * Checks lengths against {@code limit}, but not the checksum.
   *
   * @return whether the record is well formed
   */
  public boolean decode(Region region, long offset, long limit) {
    start = offset;
    int first = limit > offset ? region.getByte(offset) & 0xff : 0;
    compressed = (first & LogFormat.LZ4) != 0;
    kind = first & ~LogFormat.LZ4;
    if (!LogFormat.isRecordKind(kind)) {
      return false;
    }
    long at = offset + 1;
    long value = boundedVarint(region, at, limit - at);
    if (!isStoredKeyLength(value)) {
      return false;
    }
    keyLength = (int) value;
    at += varintBytes;
    storedLength = 0;
    valueLength = 0;
    if (kind != Tag.DELETE) {
      value = boundedVarint(region, at, limit - at);
      if (value < 0 || value > Limits.VALUE_BYTES_MAX) {
        return false;
      }
      storedLength = (int) value;
      at += varintBytes;
      if (kind == Tag.RANGE_DELETE && (compressed || !isStoredKeyLength(storedLength))) {
        return false;
      }
      if (compressed) {
        value = boundedVarint(region, at, limit - at);
        if (value < 0 || value > Limits.VALUE_BYTES_MAX) {
          return false;
        }
        if (value / Lz4.EXPANSION_MAX > storedLength) {
          return false;
        }
        at += varintBytes;
      }
      valueLength = (int) value;
    } else if (compressed) {
      return false;
    }
    if (Tag.expires(kind)) {
      at += Payload.EXPIRY_BYTES;
    }
    keyOffset = at;
    long rest = limit - at;
    if (rest < LogFormat.CRC_BYTES
        || keyLength > rest - LogFormat.CRC_BYTES
        || storedLength > rest - LogFormat.CRC_BYTES - keyLength) {
      return false;
    }
    length = (int) (at - offset) + keyLength + storedLength + LogFormat.CRC_BYTES;
    return true;
  }

  /** {@code region} maps the file from its start. */
  boolean crcHolds(Region region, long file, NativeWindow window) {
    int crc = window.crc32c(region, start, length - LogFormat.CRC_BYTES);
    return region.getInt(crcOffset()) == (crc ^ LogFormat.place(file, start));
  }

  private static boolean isStoredKeyLength(long length) {
    return length >= 1 && length <= Limits.STORED_KEY_BYTES_MAX;
  }

  /** Reads at most {@code rest} bytes; returns -1 if malformed. */
  private long boundedVarint(Region region, long at, long rest) {
    long value = 0;
    for (int i = 0; i < 5 && i < rest; i++) {
      long next = region.getByte(at + i);
      value |= (next & 0x7f) << (7 * i);
      if (next >= 0) {
        varintBytes = i + 1;
        // A last byte of zero would be one too many.
        return next > 0 || i == 0 ? value : -1;
      }
    }
    return -1;
  }

  /** Returns -1 if the prefix is invalid. */
  int keyspace(Region region) {
    int first = keyLength == 0 ? Keyspaces.LONG_FORM : region.getByte(keyOffset) & 0xff;
    return first < Keyspaces.LONG_FORM
        ? first
        : Keyspaces.of(
            region.getBytes(keyOffset, Math.min(keyLength, Limits.KEYSPACE_PREFIX_BYTES_MAX)));
  }

  public long storedOffset() {
    return keyOffset + keyLength;
  }

  public long expiresAtMillis(Region region) {
    return region.getLong(keyOffset - Payload.EXPIRY_BYTES);
  }

  long crcOffset() {
    return start + length - LogFormat.CRC_BYTES;
  }
}
