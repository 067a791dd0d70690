package io.kvsep.server.http;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;

/**
 * The version of an entry: the first 128 bits of the SHA-256 of its value. It has to be one that
 * nobody can forge, as whoever makes two values with one tag could have the wrong one replaced.
 */
final class EntityTag {
  private static final int BYTES = 16;
  private static final ThreadLocal<MessageDigest> DIGEST =
      ThreadLocal.withInitial(EntityTag::digest);

  private EntityTag() {}

  /** In quotes, as headers have it. Reads {@code value} to its limit and leaves it as it was. */
  static String of(ByteBuffer value) {
    MessageDigest digest = DIGEST.get();
    digest.update(value.duplicate());
    byte[] first = Arrays.copyOf(digest.digest(), BYTES);
    return '"' + Base64.getUrlEncoder().withoutPadding().encodeToString(first) + '"';
  }

  static String of(byte[] value) {
    return of(ByteBuffer.wrap(value));
  }

  private static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
