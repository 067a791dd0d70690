package io.kvsep.internal.memtable;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.Region;

/** A step back is a search, O(log n). */
final class MemtableIterator extends InternalIterator {
  private final SkipList list;
  private final Nodes nodes;
  private final Position foreseen = new Position();
  private long position;

  MemtableIterator(SkipList list) {
    this.list = list;
    this.nodes = list.nodes();
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
    stand(list.findBefore(nodes.arena(), here.keyOffset, here.keyLength, here.tag));
  }

  /** Following the list also brings the next nodes into the processor caches. */
  @Override
  public void foresee(PrefetchSink sink) {
    long at = position;
    do {
      nodes.read(SkipList.node(at), foreseen);
      at = list.next(at);
    } while (sink.entry(foreseen.tag, nodes.arena(), foreseen.payloadOffset)
        && at != SkipList.NULL);
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
      here.keyRegion = nodes.arena();
      here.keyOffset = nodes.keyOffset(keyNode);
      here.keyLength = nodes.keyLength(keyNode);
      nodes.read(SkipList.node(at), here);
    }
  }
}
