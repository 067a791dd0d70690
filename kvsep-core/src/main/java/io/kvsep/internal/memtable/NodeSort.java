package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;
import java.util.Arrays;

/**
 * Sorts nodes by key, approximately: by the first eight bytes after the common prefix, then
 * recursively within groups of equal bytes. Keys that differ only in trailing zeros keep their
 * write order, and so may keys if very many share a prefix. Callers must compare.
 */
final class NodeSort {
  /** Minimum temporary heap per node; the maximum is twice that. */
  private static final int BYTES_PER_NODE = 4 + 4 + 8 + 8;

  /** Keeps the temporary heap a small part of the whole. */
  static final int NODES_MAX =
      (int) Math.min(1 << 19, Runtime.getRuntime().maxMemory() / 24 / BYTES_PER_NODE);

  private static final int TOUCHED = 32;

  /** Limit of an insertion step. */
  private static final int MOVED_MAX = 16;

  /** Only crafted keys exceed it, for example each a prefix of the next. */
  private static final int DEPTH_MAX = 8;

  private static final int NODE_BYTES_MIN = 16;

  private final Nodes nodes;
  private final int[] sorted;
  private final int[] spare;

  /** Eight bytes of each key; with the sign bit flipped, signed order is byte order. */
  private final long[] prefixes;

  /** Leading bits of a prefix, then the node's index in the range. */
  private final long[] words;

  private final int count;
  private int touchedTo;

  /**
   * Sorts the next key nodes of a walk at {@code from} that ends at {@code to}, at most {@link
   * #NODES_MAX}.
   */
  NodeSort(Nodes nodes, Nodes.Walk walk, long from, long to) {
    this.nodes = nodes;
    long most = ((from >>> 32) - (to >>> 32)) / NODE_BYTES_MIN;
    sorted = new int[(int) Math.min(NODES_MAX, most)];
    int met = 0;
    while (met < sorted.length && walk.next()) {
      if (!walk.isOfVersion()) {
        sorted[met++] = walk.node();
      }
    }
    count = met;
    spare = new int[count];
    prefixes = new long[count];
    words = new long[count];
    sort(0, count, 0, 0);
  }

  int count() {
    return count;
  }

  /** Must be called for each index in turn. */
  int node(int i) {
    if (i == touchedTo) {
      touch();
    }
    return sorted[i];
  }

  /** Prefetches several at once, because neighbours are scattered over the arena. */
  private void touch() {
    int end = Math.min(count, touchedTo + TOUCHED);
    for (int i = touchedTo; i < end; i++) {
      nodes.touchNode(sorted[i]);
    }
    for (int i = touchedTo; i < end; i++) {
      nodes.touchEntry(sorted[i]);
    }
    touchedTo = end;
  }

  /**
   * @param known leading bytes that the keys of the range share at least
   */
  private void sort(int from, int to, int known, int depth) {
    int common = commonBytes(from, to, known);
    if (depth > 0 && common == known) {
      return;
    }
    int bits = Integer.SIZE - Integer.numberOfLeadingZeros(to - from);
    for (int i = from; i < to; i++) {
      int rest = nodes.keyLength(sorted[i]) - common;
      long bytes =
          rest == 0 ? 0 : nodes.arena().keyPrefix(nodes.keyOffset(sorted[i]) + common, rest);
      prefixes[i] = bytes ^ Long.MIN_VALUE;
      words[i] = (bytes >>> bits << bits | (i - from)) ^ Long.MIN_VALUE;
    }
    Arrays.sort(words, from, to);
    long places = (1L << bits) - 1;
    for (int i = from; i < to; i++) {
      moveDown(i, from, bits);
    }
    for (int i = from; i < to; i++) {
      int at = from + (int) (words[i] & places);
      spare[i] = sorted[at];
      words[i] = prefixes[at];
    }
    System.arraycopy(spare, from, sorted, from, to - from);
    if (depth < DEPTH_MAX) {
      sortAlike(from, to, common, depth + 1);
    }
  }

  /** Insertion step by full prefix, because a word holds only its leading bits. */
  private void moveDown(int i, int from, int bits) {
    long places = (1L << bits) - 1;
    long word = words[i];
    long prefix = prefixes[from + (int) (word & places)];
    int at = i;
    while (at > from
        && i - at < MOVED_MAX
        && words[at - 1] >>> bits == word >>> bits
        && prefixes[from + (int) (words[at - 1] & places)] > prefix) {
      words[at] = words[at - 1];
      at--;
    }
    words[at] = word;
  }

  /** Requires the full prefixes in {@link #words}. */
  private void sortAlike(int from, int to, int common, int depth) {
    int begin = from;
    for (int i = from + 1; i <= to; i++) {
      if (i == to || words[i] != words[begin]) {
        if (i - begin > 1) {
          sort(begin, i, common, depth);
        }
        begin = i;
      }
    }
  }

  private int commonBytes(int from, int to, int known) {
    if (from == to) {
      return 0;
    }
    Region arena = nodes.arena();
    long first = nodes.keyOffset(sorted[from]) + known;
    int common = nodes.keyLength(sorted[from]) - known;
    for (int i = from + 1; i < to && common > 0; i++) {
      int length = Math.min(common, nodes.keyLength(sorted[i]) - known);
      long key = nodes.keyOffset(sorted[i]) + known;
      common = Region.commonPrefix(arena, first, length, arena, key, length);
    }
    return known + common;
  }
}
