package io.kvsep.internal.base;

/**
 * Encoding of the keyspace prefix of stored keys. No prefix starts with another one, so each
 * keyspace is one contiguous range of stored keys.
 *
 * <pre>
 * id            bytes
 * 0 .. 239      id
 * 240 ..        0xf0, id as u32 big-endian
 * </pre>
 */
public final class Keyspaces {
  /** The keyspace of the store itself. */
  public static final int DEFAULT = 0;

  /** Highest id; its successor can be stored too. */
  public static final int ID_MAX = Integer.MAX_VALUE - 2;

  /** Ids from here on take five bytes. */
  public static final int LONG_FORM = 0xf0;

  private Keyspaces() {}

  public static int prefixLength(int keyspace) {
    return keyspace >= 0 && keyspace < LONG_FORM ? 1 : Limits.KEYSPACE_PREFIX_BYTES_MAX;
  }

  public static byte[] storedKey(int keyspace, byte[] userKey) {
    int prefixLength = prefixLength(keyspace);
    byte[] stored = new byte[prefixLength + userKey.length];
    putPrefix(stored, keyspace);
    System.arraycopy(userKey, 0, stored, prefixLength, userKey.length);
    return stored;
  }

  /** The first stored key after all keys of {@code keyspace}. */
  public static byte[] end(int keyspace) {
    byte[] end = new byte[prefixLength(keyspace)];
    putPrefix(end, keyspace);
    // No prefix is all ones, so the carry ends.
    int last = end.length - 1;
    while (++end[last] == 0) {
      last--;
    }
    return end;
  }

  /**
   * The keyspace of a stored key; -1 if the prefix is invalid, as an id below {@link #LONG_FORM} in
   * the long form is.
   */
  public static int of(byte[] stored) {
    int first = stored.length == 0 ? -1 : stored[0] & 0xff;
    if (first < LONG_FORM) {
      return first;
    }
    if (first > LONG_FORM || stored.length < Limits.KEYSPACE_PREFIX_BYTES_MAX) {
      return -1;
    }
    int id = 0;
    for (int i = 1; i <= 4; i++) {
      id = (id << 8) | (stored[i] & 0xff);
    }
    return id < LONG_FORM ? -1 : id;
  }

  public static void putPrefix(byte[] target, int keyspace) {
    if (prefixLength(keyspace) == 1) {
      target[0] = (byte) keyspace;
      return;
    }
    target[0] = (byte) LONG_FORM;
    for (int i = 0; i < 4; i++) {
      target[1 + i] = (byte) (keyspace >>> (24 - 8 * i));
    }
  }
}
