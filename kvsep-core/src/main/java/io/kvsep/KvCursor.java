package io.kvsep;

import java.nio.ByteBuffer;
import java.util.OptionalLong;

/**
 * Walks entries in key order. Sees the moment it was made, whatever is written later. A new cursor
 * stands before its first entry; past either end it is not valid, and {@link #next} or {@link
 * #previous} step back in from there. With {@link ScanOptions#reverse()} the order is descending:
 * {@code next} then moves to smaller keys.
 *
 * <p>Not thread safe: of two threads that use it at once, one is told by an {@link
 * IllegalStateException}, or its call is about where the other has gone; what a call returns is of
 * one entry, never of two. Close it: an open cursor keeps the files and memory of its moment. Every
 * call on a closed cursor, or after the store was closed, is a {@link
 * io.kvsep.error.StoreClosedException}.
 */
public interface KvCursor extends AutoCloseable {
  /** To the next entry; on a new cursor to the first. Whether there is one. */
  boolean next();

  /** To the entry before; on a new cursor to the last. Whether there is one. */
  boolean previous();

  /** To the first entry at or after {@code key} within the bounds, in the cursor's order. */
  boolean seek(byte[] key);

  /** To the last entry at or before {@code key} within the bounds, in the cursor's order. */
  boolean seekFloor(byte[] key);

  /** Whether the cursor stands on an entry. */
  boolean isValid();

  /** A copy of the key; {@link IllegalStateException} where not valid. */
  byte[] key();

  /**
   * A copy of the value; {@link IllegalStateException} where not valid or with {@link
   * ScanOptions#keysOnly()}.
   */
  byte[] value();

  /**
   * The key as a read-only view, valid until the cursor moves or closes; it may be the same object
   * each time.
   */
  ByteBuffer keyView();

  /**
   * The value as a read-only view, valid until the cursor moves or closes. Copied where {@link
   * KvReader#read} would copy it, and then it may be the same object each time.
   */
  ByteBuffer valueView();

  /** Bytes of the value; never reads it. */
  int valueLength();

  /** When the entry expires, empty when never. */
  OptionalLong expiresAtMillis();

  /** Releases what the cursor pins; idempotent. */
  @Override
  void close();
}
