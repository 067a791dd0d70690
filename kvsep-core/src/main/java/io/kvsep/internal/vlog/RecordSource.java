package io.kvsep.internal.vlog;

import org.jspecify.annotations.Nullable;

/**
 * Hands out the records of one frame in order, as ranges of heap arrays. A cursor over somebody
 * else's arrays: the ranges are valid until the next call. Can be walked more than once. Not thread
 * safe.
 */
public abstract class RecordSource {
  public int keyspace;

  /**
   * {@code Tag.PUT}, perhaps with {@code Tag.EXPIRES}, {@code Tag.DELETE}, or {@code
   * Tag.RANGE_DELETE}, whose value is the first stored key behind the range.
   */
  public int kind;

  public byte[] key = EMPTY;
  public int keyOffset;
  public int keyLength;
  public byte @Nullable [] value;
  public int valueOffset;
  public int valueLength;
  public long expiresAtMillis;

  protected static final byte[] EMPTY = new byte[0];

  /** Starts again before the first record. */
  public abstract void rewind();

  /** To the next record; whether there is one. */
  public abstract boolean next();

  public abstract int recordCount();

  /** Bytes of all keys and values as the user gave them: what a range ends with is a user key. */
  public abstract long payloadBytes();
}
