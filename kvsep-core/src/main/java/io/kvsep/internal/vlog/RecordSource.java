package io.kvsep.internal.vlog;

import org.jspecify.annotations.Nullable;

/**
 * Cursor over the records of one frame, as ranges of arrays that it does not own, valid until the
 * next call. Not thread safe.
 */
public abstract class RecordSource {
  public int keyspace;

  /**
   * {@code Tag.PUT}, optionally with {@code Tag.EXPIRES}; {@code Tag.DELETE}; or {@code
   * Tag.RANGE_DELETE}, whose value is the first stored key after the range.
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

  public abstract void rewind();

  public abstract boolean next();

  public abstract int recordCount();

  /** Bytes of all user keys and uncompressed values; a range end counts as a user key. */
  public abstract long payloadBytes();
}
