package io.kvsep.internal.iterator;

import java.util.Arrays;

/**
 * An entry of a walk whose key is a copy on the heap, so that reading it can do no harm, whoever
 * frees what it came from. Its payload stays where it lies. Plain fields, as those of {@link
 * Position}.
 */
public final class HeapEntry {
  /** Keys are copied eight bytes at a time, so up to seven too many. */
  public static final int SLACK = 8;

  private static final int KEY_BYTES_MIN = 56;

  /** The key, from 0 to its length; the same array until a longer key comes. */
  public byte[] key = new byte[KEY_BYTES_MIN + SLACK];

  public int keyLength;
  public long tag;
  public long payloadOffset;
  public int payloadLength;

  /**
   * Makes the key that of a position.
   *
   * @param agreeing how many of its first bytes the key has already
   */
  public void putKey(InternalIterator from, int agreeing) {
    int length = from.keyLength();
    require(length);
    from.keyRegion().getFew(from.keyOffset() + agreeing, key, agreeing, length - agreeing);
    keyLength = length;
  }

  /** Whether that is the key of a position. */
  public boolean isKeyOf(InternalIterator other) {
    return other.keyLength() == keyLength
        && other.keyRegion().holds(other.keyOffset(), key, keyLength);
  }

  /** Makes room for a key of so many bytes; what there is of one stays. */
  public void require(int length) {
    if (length > key.length - SLACK) {
      key = Arrays.copyOf(key, 2 * length + SLACK);
    }
  }
}
