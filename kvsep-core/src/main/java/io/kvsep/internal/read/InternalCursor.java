package io.kvsep.internal.read;

import io.kvsep.internal.iterator.Payload;
import java.nio.ByteBuffer;

/** What a cursor of the API stands on: the store alone, or the store under a transaction. */
public interface InternalCursor extends AutoCloseable {
  /** What {@link #expiresAtMillis} returns for entries that do not expire. */
  long NEVER = Payload.NEVER;

  boolean next();

  boolean previous();

  /** To the first entry at or after {@code userKey} in the cursor's order. */
  boolean seek(byte[] userKey);

  /** To the last entry at or before {@code userKey} in the cursor's order. */
  boolean seekFloor(byte[] userKey);

  boolean isValid();

  /** A copy of the user key. */
  byte[] key();

  /** The user key from position 0 on, in an array that changes when the cursor moves. */
  ByteBuffer keyView();

  /** A copy of the value. */
  byte[] value();

  /**
   * The value without copying it where that is possible. Safe to read however long it is held; of a
   * short value it may be of an array that changes when the cursor moves.
   */
  ByteBuffer valueView();

  int valueLength();

  /** When the entry expires, {@link #NEVER} when it does not. */
  long expiresAtMillis();

  /** Releases everything; waits for a call in another thread to end. */
  @Override
  void close();
}
