package io.kvsep.leveldb;

import io.kvsep.KvCursor;
import io.kvsep.error.KvException;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.Arrays;
import java.util.Map;
import java.util.NoSuchElementException;
import org.iq80.leveldb.DBIterator;
import org.jspecify.annotations.Nullable;

/**
 * A place between two entries, over a cursor that is at one of the two and moves to the other when
 * that is asked for. So a step in either direction moves the cursor once. Entries are copies. Not
 * thread safe.
 */
final class CursorIterator implements DBIterator {
  private static final byte[] BEFORE_ALL = {};

  /** Longer than any key, so after them. */
  private static final byte[] AFTER_ALL = new byte[1 << 16];

  static {
    Arrays.fill(AFTER_ALL, (byte) 0xff);
  }

  private final KvCursor cursor;

  /** Whether the cursor is at the entry after this place; otherwise at the one before it. */
  private boolean atNext;

  /** That of the cursor, once it was read. */
  private Map.@Nullable Entry<byte[], byte[]> entry;

  /**
   * @param cursor new, which is before the first entry
   */
  CursorIterator(KvCursor cursor) {
    this.cursor = cursor;
  }

  @Override
  public void seekToFirst() {
    seek(BEFORE_ALL);
  }

  @Override
  public void seekToLast() {
    seek(AFTER_ALL);
  }

  @Override
  public void seek(byte[] key) {
    entry = null;
    try {
      cursor.seek(key);
      atNext = true;
    } catch (KvException e) {
      throw KvsepDB.failure(e);
    }
  }

  @Override
  public boolean hasNext() {
    return isAt(/* next= */ true);
  }

  @Override
  public boolean hasPrev() {
    return isAt(/* next= */ false);
  }

  @Override
  public Map.Entry<byte[], byte[]> peekNext() {
    return entry(/* next= */ true);
  }

  @Override
  public Map.Entry<byte[], byte[]> peekPrev() {
    return entry(/* next= */ false);
  }

  @Override
  public Map.Entry<byte[], byte[]> next() {
    Map.Entry<byte[], byte[]> passed = peekNext();
    atNext = false;
    return passed;
  }

  @Override
  public Map.Entry<byte[], byte[]> prev() {
    Map.Entry<byte[], byte[]> passed = peekPrev();
    atNext = true;
    return passed;
  }

  /** Moves the cursor to the entry on that side; returns whether there is one. */
  private boolean isAt(boolean next) {
    try {
      if (atNext == next) {
        return cursor.isValid();
      }
      entry = null;
      boolean found = next ? cursor.next() : cursor.previous();
      atNext = next;
      return found;
    } catch (KvException e) {
      throw KvsepDB.failure(e);
    }
  }

  private Map.Entry<byte[], byte[]> entry(boolean next) {
    if (!isAt(next)) {
      throw new NoSuchElementException();
    }
    try {
      if (entry == null) {
        entry = new SimpleImmutableEntry<>(cursor.key(), cursor.value());
      }
      return entry;
    } catch (KvException e) {
      throw KvsepDB.failure(e);
    }
  }

  @Override
  public void close() {
    cursor.close();
  }
}
