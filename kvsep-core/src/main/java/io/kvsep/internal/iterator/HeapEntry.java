package io.kvsep.internal.iterator;

import java.util.Arrays;

/**
 * An entry whose key is a heap copy, safe to read after its source is freed. The payload is not
 * copied.
 */
public final class HeapEntry {
  /** Keys are copied eight bytes at a time, so up to seven bytes too many. */
  public static final int SLACK = 8;

  private static final int KEY_BYTES_MIN = 56;

  /** Holds the key in its first {@link #keyLength} bytes. */
  public byte[] key = new byte[KEY_BYTES_MIN + SLACK];

  public int keyLength;
  public long tag;
  public long payloadOffset;
  public int payloadLength;

  /** Copies the key except its first {@code agreeing} bytes, which are equal already. */
  public void putKey(InternalIterator from, int agreeing) {
    int length = from.keyLength();
    require(length);
    from.keyRegion().getFew(from.keyOffset() + agreeing, key, agreeing, length - agreeing);
    keyLength = length;
  }

  public boolean isKeyOf(InternalIterator other) {
    return other.keyLength() == keyLength
        && other.keyRegion().holds(other.keyOffset(), key, keyLength);
  }

  /** Ensures capacity for a key of this length; keeps the current key. */
  public void require(int length) {
    if (length > key.length - SLACK) {
      key = Arrays.copyOf(key, 2 * length + SLACK);
    }
  }
}
