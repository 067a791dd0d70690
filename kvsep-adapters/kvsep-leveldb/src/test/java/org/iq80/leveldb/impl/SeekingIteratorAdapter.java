package org.iq80.leveldb.impl;

import java.io.IOException;
import java.util.Map;
import org.iq80.leveldb.DBIterator;

/**
 * An iterator of kvsep under the name of the class that LevelDB's tests use, see {@link DbImpl}.
 */
public final class SeekingIteratorAdapter implements DBIterator {
  private final DBIterator iterator;

  SeekingIteratorAdapter(DBIterator iterator) {
    this.iterator = iterator;
  }

  @Override
  public void seek(byte[] key) {
    iterator.seek(key);
  }

  @Override
  public void seekToFirst() {
    iterator.seekToFirst();
  }

  @Override
  public void seekToLast() {
    iterator.seekToLast();
  }

  @Override
  public boolean hasNext() {
    return iterator.hasNext();
  }

  @Override
  public Map.Entry<byte[], byte[]> next() {
    return iterator.next();
  }

  @Override
  public Map.Entry<byte[], byte[]> peekNext() {
    return iterator.peekNext();
  }

  @Override
  public boolean hasPrev() {
    return iterator.hasPrev();
  }

  @Override
  public Map.Entry<byte[], byte[]> prev() {
    return iterator.prev();
  }

  @Override
  public Map.Entry<byte[], byte[]> peekPrev() {
    return iterator.peekPrev();
  }

  @Override
  public void close() throws IOException {
    iterator.close();
  }
}
