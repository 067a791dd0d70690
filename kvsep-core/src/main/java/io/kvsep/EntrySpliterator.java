package io.kvsep;

import java.util.Spliterator;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The entries of a cursor, which it closes at the end. Not thread safe; does not split. */
final class EntrySpliterator implements Spliterator<KvEntry> {
  private static final byte[] NO_VALUE = {};

  private final KvCursor cursor;
  private final boolean keysOnly;

  /** A closed cursor may not be asked again. */
  private boolean ended;

  EntrySpliterator(KvCursor cursor, ScanOptions options) {
    this.cursor = cursor;
    this.keysOnly = options.isKeysOnly();
  }

  /** The cursor's value; empty if it shows keys only. */
  static byte[] value(KvCursor cursor, boolean keysOnly) {
    return keysOnly ? NO_VALUE : cursor.value();
  }

  @Override
  public boolean tryAdvance(Consumer<? super KvEntry> action) {
    if (ended) {
      return false;
    }
    if (cursor.next()) {
      action.accept(new KvEntry(cursor.key(), value(cursor, keysOnly)));
      return true;
    }
    ended = true;
    cursor.close();
    return false;
  }

  @Override
  public @Nullable Spliterator<KvEntry> trySplit() {
    return null;
  }

  @Override
  public long estimateSize() {
    return Long.MAX_VALUE;
  }

  @Override
  public int characteristics() {
    return ORDERED | DISTINCT | NONNULL;
  }
}
