package io.kvsep.cluster;

import io.kvsep.EntryInfo;
import io.kvsep.KvCursor;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/**
 * What conditions compare instead of values: the first 16 bytes of SHA-256, so that no client can
 * make two values that count as equal.
 */
final class ContentHash {
  static final int BYTES = 16;

  private ContentHash() {}

  /** Of a value, whenever it expires. */
  static byte[] ofValue(ByteBuffer value) {
    MessageDigest digest = sha256();
    digest.update(value);
    return finish(digest);
  }

  /** Of a value and its expiry. */
  static byte[] ofEntry(EntryInfo info, ByteBuffer value) {
    MessageDigest digest = sha256();
    update(digest, info.expiresAtMillis().orElse(0));
    digest.update(value);
    return finish(digest);
  }

  /** Of all entries that a cursor will return, with their number. */
  record Range(int count, byte[] hash) {}

  /**
   * @param entriesMax more entries are not read, and the result has a count of {@code entriesMax} +
   *     1
   * @param bytesMax of keys and values; the same
   */
  static Range ofRange(KvCursor cursor, int entriesMax, long bytesMax) {
    MessageDigest digest = sha256();
    int count = 0;
    long bytes = 0;
    while (cursor.next()) {
      count++;
      ByteBuffer key = cursor.keyView();
      bytes += key.remaining() + cursor.valueLength();
      if (count > entriesMax || bytes > bytesMax) {
        count = entriesMax + 1;
        break;
      }
      update(digest, key.remaining());
      digest.update(key);
      update(digest, cursor.expiresAtMillis().orElse(0));
      ByteBuffer value = cursor.valueView();
      update(digest, value.remaining());
      digest.update(value);
    }
    return new Range(count, finish(digest));
  }

  /**
   * A version that every replica gives to the same value, positive: sequence numbers of replicas
   * differ. Not safe against forgery, as a version need not be.
   */
  static long version(ByteBuffer value) {
    CRC32 high = new CRC32();
    CRC32C low = new CRC32C();
    high.update(value.duplicate());
    low.update(value.duplicate());
    return Math.max(1, (high.getValue() << 32 | low.getValue()) & Long.MAX_VALUE);
  }

  private static void update(MessageDigest digest, long number) {
    digest.update(ByteBuffer.allocate(Long.BYTES).putLong(0, number));
  }

  private static byte[] finish(MessageDigest digest) {
    return Arrays.copyOf(digest.digest(), BYTES);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
