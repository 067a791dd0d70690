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
    stand(list.findBefore(list.arena(), here.keyOffset, here.keyLength, here.tag));
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
      here.keyRegion = list.arena();
      here.keyOffset = list.keyOffset(keyNode);
      here.keyLength = list.keyLength(keyNode);
      here.tag = list.tag(node);
      here.payloadRegion = list.arena();
      here.payloadOffset = list.payloadOffset(node);
      here.payloadLength = list.payloadLength(node);
    }
  }
}
