package io.kvsep.internal.memtable;

/**
 * Key nodes that an iterator visits next, in key order. Entries of neighbours are scattered over
 * the arena, so those of a batch are touched together: the processor then waits for them once. Not
 * thread safe.
 */
final class NodeBatch {
  /** A power of two. Of more nodes before a position, the nearest are kept. */
  private static final int NODES_MAX = 64;

  /** Nodes of the first batch after a seek; the next ones have twice as many. */
  private static final int NODES_FIRST = 4;

  private static final int NODES_FORWARD_MAX = 32;

  /** The last node before a position on this level is about 16 nodes away. */
  private static final int LEVEL_BACK = 2;

  /** Keys inserted in order have nodes this close, which the processor prefetches unasked. */
  private static final int NEAR_BYTES = 128;

  private final SkipList list;
  private final Nodes nodes;
  private final int[] batch = new int[NODES_MAX];
  private final SkipList.Splice splice = new SkipList.Splice();
  private int begin;
  private int end;
  private int nodesNext = NODES_FIRST;
  private boolean scattered;

  NodeBatch(SkipList list) {
    this.list = list;
    this.nodes = list.nodes();
  }

  void clear() {
    begin = 0;
    end = 0;
    nodesNext = NODES_FIRST;
  }

  /** The node after this one, which was taken last; {@link SkipList#NULL} at the end. */
  int next(int keyNode) {
    if (begin == end) {
      addAfter(keyNode);
    }
    return begin == end ? SkipList.NULL : batch[begin++ & (NODES_MAX - 1)];
  }

  /** The node before this one, which was taken last; {@link SkipList#NULL} at the start. */
  int previous(int keyNode) {
    if (begin == end) {
      addBefore(keyNode);
    }
    return begin == end ? SkipList.NULL : batch[--end & (NODES_MAX - 1)];
  }

  private void addAfter(int keyNode) {
    restart();
    int last = keyNode;
    int node = list.next(keyNode, 0);
    while (node != SkipList.NULL && end < nodesNext) {
      add(last, node);
      last = node;
      node = list.next(node, 0);
    }
    nodesNext = Math.min(NODES_FORWARD_MAX, 2 * nodesNext);
    touchPayloads();
  }

  private void addBefore(int keyNode) {
    restart();
    int last = list.findBefore(keyNode, LEVEL_BACK, splice);
    int node = last == SkipList.HEAD ? list.next(last, 0) : last;
    while (node != keyNode) {
      add(last, node);
      last = node;
      node = list.next(node, 0);
    }
    touchPayloads();
  }

  private void restart() {
    begin = 0;
    end = 0;
    scattered = false;
  }

  private void add(int last, int keyNode) {
    batch[end++ & (NODES_MAX - 1)] = keyNode;
    begin = Math.max(begin, end - NODES_MAX);
    if (Math.abs(keyNode - last) > NEAR_BYTES) {
      scattered = true;
      nodes.touchEntry(keyNode);
    }
  }

  private void touchPayloads() {
    for (int i = begin; scattered && i < end; i++) {
      nodes.touchPayload(batch[i & (NODES_MAX - 1)]);
    }
  }
}
