package io.kvsep.internal.memtable;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/** A step takes entries from a batch of key nodes once a walk has taken a few. */
final class MemtableIterator extends InternalIterator {
  /** Steps before batches, which a cursor that jumps would not use up. */
  private static final int STEPS_BEFORE_BATCH = 2;

  private final SkipList list;
  private final Nodes nodes;
  private final Position foreseen = new Position();
  private long position;

  /** Null before the first batch. */
  private @Nullable NodeBatch batch;

  private boolean forward;
  private int steps;

  MemtableIterator(SkipList list) {
    this.list = list;
    this.nodes = list.nodes();
  }

  @Override
  public void seekToFirst() {
    jump(list.first());
  }

  @Override
  public void seekToLast() {
    jump(list.last());
  }

  @Override
  public void seek(Region key, long offset, int length, long tag) {
    jump(list.findAtOrAfter(key, offset, length, tag));
  }

  @Override
  public void seekBefore(Region key, long offset, int length, long tag) {
    jump(list.findBefore(key, offset, length, tag));
  }

  @Override
  public void next() {
    long older = list.older(position);
    if (older != SkipList.NULL) {
      stand(older);
      return;
    }
    NodeBatch walk = turned(/* ascending= */ true);
    stand(walk == null ? list.next(position) : list.newest(walk.next(SkipList.keyNode(position))));
  }

  @Override
  public void previous() {
    int keyNode = SkipList.keyNode(position);
    long newer = list.newer(keyNode, here.tag);
    if (newer != SkipList.NULL) {
      stand(newer);
      return;
    }
    NodeBatch walk = turned(/* ascending= */ false);
    stand(
        walk == null
            ? list.findBefore(nodes.arena(), here.keyOffset, here.keyLength, here.tag)
            : SkipList.oldest(walk.previous(keyNode)));
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

  /** The batch of a walk in this direction; null in its first steps. */
  private @Nullable NodeBatch turned(boolean ascending) {
    if (forward != ascending) {
      forward = ascending;
      rest();
    }
    if (steps < STEPS_BEFORE_BATCH) {
      steps++;
      return null;
    }
    NodeBatch of = batch;
    if (of == null) {
      of = new NodeBatch(list);
      batch = of;
    }
    return of;
  }

  private void rest() {
    steps = 0;
    if (batch != null) {
      batch.clear();
    }
  }

  private void jump(long at) {
    rest();
    stand(at);
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
