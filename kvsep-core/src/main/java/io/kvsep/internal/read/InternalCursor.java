package io.kvsep.internal.read;

import io.kvsep.internal.iterator.Payload;
import java.nio.ByteBuffer;

/**
 * The cursor below a public cursor: over the store, or over the store and a transaction's writes.
 */
public interface InternalCursor extends AutoCloseable {
  long NEVER = Payload.NEVER;

  boolean next();

  boolean previous();

  /** Moves to the first entry at or after {@code userKey} in the cursor's order. */
  boolean seek(byte[] userKey);

  /** Moves to the last entry at or before {@code userKey} in the cursor's order. */
  boolean seekFloor(byte[] userKey);

  boolean isValid();

  byte[] key();

  /** The user key from position 0, in an array that changes when the cursor moves. */
  ByteBuffer keyView();

  byte[] value();

  /**
   * The value, uncopied where possible; readable as long as it is held. A short value may be in an
   * array that changes when the cursor moves.
   */
  ByteBuffer valueView();

  int valueLength();

  /** When the entry expires, {@link #NEVER} if it does not. */
  long expiresAtMillis();

  /** Waits for a call on another thread to end. */
  @Override
  void close();
}
