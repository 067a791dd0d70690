package io.kvsep.internal.memtable;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.Region;

/** Walks a skip list; stepping back is a search, O(log n). */
final class MemtableIterator extends InternalIterator {
  private final SkipList list;
  private long position;

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
    stand(list.next(position));
  }

  @Override
  public void previous() {
    stand(list.findBefore(list.arena(), keyOffset, keyLength, tag));
  }

  @Override
  public void close() {
    valid = false;
  }

  private void stand(long at) {
    position = at;
    valid = at != SkipList.NULL;
    if (valid) {
      int keyNode = SkipList.keyNode(at);
      int node = SkipList.node(at);
      keyRegion = list.arena();
      keyOffset = list.keyOffset(keyNode);
      keyLength = list.keyLength(keyNode);
      tag = list.tag(node);
      payloadRegion = list.arena();
      payloadOffset = list.payloadOffset(node);
      payloadLength = list.payloadLength(node);
    }
  }
}
