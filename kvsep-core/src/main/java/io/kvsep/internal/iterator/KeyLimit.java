package io.kvsep.internal.iterator;

import java.util.Arrays;

/**
 * A key on the heap below which a walk forward may go on without asking: the end of its range, or
 * where another source comes next. Plain fields, as those of {@link Position}.
 */
public final class KeyLimit {
  /** The key, from 0 to its length. */
  public byte[] key;

  public int length;

  /** How many first bytes of the walk's key are those of this one, which is greater. */
  public int differsAt;

  public KeyLimit(byte[] key) {
    this.key = key;
    this.length = key.length;
  }

  /** Makes this the key of a position. */
  void put(InternalIterator from, int differsFromWalkAt) {
    differsAt = differsFromWalkAt;
    length = from.keyLength();
    if (length > key.length) {
      key = new byte[2 * length];
    }
    from.keyRegion().get(from.keyOffset(), key, 0, length);
  }

  /**
   * Whether the key of a position is below this one.
   *
   * @param agreeing how many of its first bytes are those of the walk's key, which is smaller
   */
  boolean isAbove(InternalIterator other, int agreeing) {
    // Where one agrees with the walk's key for longer, the other differs in what both agree in.
    return agreeing != differsAt
        ? agreeing > differsAt
        : other.keyRegion().compareTo(other.keyOffset(), other.keyLength(), exact()) < 0;
  }

  private byte[] exact() {
    return length == key.length ? key : Arrays.copyOf(key, length);
  }
}
