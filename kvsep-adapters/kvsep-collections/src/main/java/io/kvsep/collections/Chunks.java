package io.kvsep.collections;

import io.kvsep.KeyspaceView;
import io.kvsep.KvCursor;
import io.kvsep.KvEntry;
import io.kvsep.ScanOptions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * Iterates over the entries of a range, reading some at a time. No cursor is open between calls, so
 * an iterator that is not used up holds nothing of the store. Each chunk is as of the time when it
 * was read.
 */
final class Chunks implements Iterator<KvEntry> {
  private static final int FIRST_ENTRIES = 16;
  private static final int ENTRIES_MAX = 1_024;
  private static final int BYTES_MAX = 256 << 10;
  private static final byte[] NO_VALUE = {};

  private final KeyspaceView store;
  private final boolean isDescending;
  private final boolean keysOnly;
  private final ArrayDeque<KvEntry> chunk = new ArrayDeque<>();
  private KeyRange rest;
  private int entries = FIRST_ENTRIES;
  private boolean isAtEnd;

  Chunks(KeyspaceView store, KeyRange range, boolean isDescending, boolean keysOnly) {
    this.store = store;
    this.rest = range;
    this.isDescending = isDescending;
    this.keysOnly = keysOnly;
  }

  @Override
  public boolean hasNext() {
    if (chunk.isEmpty() && !isAtEnd) {
      read();
    }
    return !chunk.isEmpty();
  }

  @Override
  public KvEntry next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return chunk.remove();
  }

  private void read() {
    ScanOptions options = rest.options(isDescending).limit(entries);
    // After an exception the same entries are read again.
    List<KvEntry> read = new ArrayList<>();
    boolean ends = false;
    try (KvCursor cursor = store.cursor(keysOnly ? options.keysOnly() : options)) {
      int bytes = 0;
      while (bytes < BYTES_MAX && read.size() < entries) {
        if (!cursor.next()) {
          ends = true;
          break;
        }
        KvEntry entry = new KvEntry(cursor.key(), keysOnly ? NO_VALUE : cursor.value());
        read.add(entry);
        bytes += entry.key().length + Math.min(entry.value().length, BYTES_MAX);
      }
    }
    chunk.addAll(read);
    isAtEnd = ends;
    KvEntry last = chunk.peekLast();
    if (last != null) {
      rest = isDescending ? rest.to(last.key()) : rest.from(KeyRange.successor(last.key()));
      entries = Math.min(2 * entries, ENTRIES_MAX);
    }
  }
}
