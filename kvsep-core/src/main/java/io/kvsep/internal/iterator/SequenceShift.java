package io.kvsep.internal.iterator;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Region;

/** Adds a constant to all sequence numbers of another iterator, which it owns and closes. */
public final class SequenceShift extends InternalIterator {
  private final InternalIterator entries;
  private final long tagShift;

  public SequenceShift(InternalIterator entries, long by) {
    this.entries = entries;
    this.tagShift = Tag.of(by, 0);
  }

  @Override
  public void seekToFirst() {
    entries.seekToFirst();
    follow();
  }

  @Override
  public void seekToLast() {
    entries.seekToLast();
    follow();
  }

  @Override
  public void seek(Region key, long offset, int length, long tag) {
    entries.seek(key, offset, length, unshifted(tag));
    follow();
  }

  @Override
  public void seekBefore(Region key, long offset, int length, long tag) {
    entries.seekBefore(key, offset, length, unshifted(tag));
    follow();
  }

  @Override
  public void next() {
    entries.next();
    follow();
  }

  @Override
  public void previous() {
    entries.previous();
    follow();
  }

  @Override
  public void close() {
    entries.close();
  }

  private long unshifted(long tag) {
    return tag == Tag.MAX ? tag : tag - tagShift;
  }

  private void follow() {
    if (entries.isValid()) {
      valid = true;
      sourceChanged = entries.sourceChanged;
      here.copy(entries.here);
      here.tag += tagShift;
    } else {
      valid = false;
    }
  }
}
