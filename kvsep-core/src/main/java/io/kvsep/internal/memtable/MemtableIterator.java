package io.kvsep.internal.memtable;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.Region;

/** Walks a skip list; stepping back is a search, O(log n). */
final class MemtableIterator extends InternalIterator {
  private final SkipList list;
  private int node;

  MemtableIterator(SkipList list) {
    this.list = list;
  }

  @Override
  public void seekToFirst() {
    stand(list.first());
  }

  @Override
  public void seekToLast() {
    stand(list.last());
  }

  @Override
  public void seek(Region key, long offset, int length, long tag) {
    stand(list.findAtOrAfter(key, offset, length, tag));
  }

  @Override
  public void seekBefore(Region key, long offset, int length, long tag) {
    stand(list.findBefore(key, offset, length, tag));
  }

  @Override
  public void next() {
    stand(list.next(node));
  }

  @Override
  public void previous() {
    stand(list.findBefore(list.arena(), keyOffset, keyLength, tag));
  }

  @Override
  public void close() {
    valid = false;
  }

  private void stand(int at) {
    node = at;
    valid = at != SkipList.NULL;
    if (valid) {
      keyRegion = list.arena();
      keyOffset = list.keyOffset(at);
      keyLength = list.keyLength(at);
      tag = list.tag(at);
      payloadRegion = list.arena();
      payloadOffset = list.payloadOffset(at);
      payloadLength = list.payloadLength(at);
    }
  }
}
