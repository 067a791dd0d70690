package io.kvsep.internal.iterator;

import java.util.Arrays;

/**
 * Exclusive upper bound of a walk forward: the end of its range or the next key of another source.
 */
public final class KeyLimit {
  /** Holds the key in its first {@link #length} bytes. */
  public byte[] key;

  public int length;

  /** Leading bytes shared with the walk's key, which is smaller. */
  public int differsAt;

  public KeyLimit(byte[] key) {
    this.key = key;
    this.length = key.length;
  }

  void put(InternalIterator from, int differsFromWalkAt) {
    differsAt = differsFromWalkAt;
    length = from.keyLength();
    if (length > key.length) {
      key = new byte[2 * length];
    }
    from.keyRegion().get(from.keyOffset(), key, 0, length);
  }

  /**
   * Whether the key of {@code other} is below this one.
   *
   * @param agreeing leading bytes that it shares with the walk's key, which is smaller
   */
  boolean isAbove(InternalIterator other, int agreeing) {
    // Of two keys above the walk's key, the one that shares fewer bytes with it is greater.
    return agreeing != differsAt
        ? agreeing > differsAt
        : other.keyRegion().compareTo(other.keyOffset(), other.keyLength(), exact()) < 0;
  }

  private byte[] exact() {
    return length == key.length ? key : Arrays.copyOf(key, length);
  }
}
