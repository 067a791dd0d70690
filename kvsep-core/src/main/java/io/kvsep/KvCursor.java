package io.kvsep;

import java.nio.ByteBuffer;
import java.util.OptionalLong;

/**
 * Iterates over entries in key order, as of the time the cursor was created. A new cursor is before
 * its first entry. Past either end it is not valid; {@link #next} or {@link #previous} steps back
 * in. With {@link ScanOptions#reverse()} the order is descending: {@code next} then moves to
 * smaller keys.
 *
 * <p>Not thread safe. Concurrent use by two threads may throw {@link IllegalStateException}, or one
 * call may apply to the position to which the other thread has moved; a call never mixes data of
 * two entries. An open cursor pins files and memory of its read state, so it must be closed. Calls
 * on a closed cursor or a closed store throw {@link io.kvsep.error.StoreClosedException}.
 */
public interface KvCursor extends AutoCloseable {
  /**
   * Moves to the next entry, on a new cursor to the first.
   *
   * @return whether there is an entry
   */
  boolean next();

  /**
   * Moves to the previous entry, on a new cursor to the last.
   *
   * @return whether there is an entry
   */
  boolean previous();

  /**
   * Moves to the first entry at or after {@code key} within the bounds, in cursor order.
   *
   * @param key the key
   * @return whether there is such an entry
   */
  boolean seek(byte[] key);

  /**
   * Moves to the last entry at or before {@code key} within the bounds, in cursor order.
   *
   * @param key the key
   * @return whether there is such an entry
   */
  boolean seekFloor(byte[] key);

  /** {@return whether the cursor is positioned on an entry} */
  boolean isValid();

  /** {@return a copy of the key; throws {@link IllegalStateException} if not valid} */
  byte[] key();

  /**
   * {@return a copy of the value; throws {@link IllegalStateException} if not valid or with {@link
   * ScanOptions#keysOnly()}}
   */
  byte[] value();

  /**
   * {@return a read-only view of the key, valid until the cursor moves or closes} The buffer object
   * may be reused.
   */
  ByteBuffer keyView();

  /**
   * {@return a read-only view of the value, valid until the cursor moves or closes} The value is
   * copied in the same cases as by {@link KvReader#read}; the buffer object may then be reused.
   */
  ByteBuffer valueView();

  /** {@return length of the value in bytes; does not read the value} */
  int valueLength();

  /** {@return when the entry expires, in milliseconds since the epoch; empty if never} */
  OptionalLong expiresAtMillis();

  /** Releases what the cursor pins; idempotent. */
  @Override
  void close();
}
