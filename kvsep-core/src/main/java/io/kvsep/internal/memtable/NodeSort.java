package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;
import java.util.Arrays;

/**
 * Nodes sorted by key, or nearly: by the first eight bytes behind what all of the keys begin with,
 * and then those again that have the same. Keys that differ in nothing but zeros at their ends stay
 * as they were written, and so may others where a great many begin alike: whoever goes by the order
 * has to look.
 */
final class NodeSort {
  /** Heap that it takes for each node meanwhile, at least, and as much again at most. */
  private static final int BYTES_PER_NODE = 4 + 4 + 8 + 8;

  /** Nodes that are sorted at once: with what they take, a small part of the heap. */
  static final int NODES_MAX =
      (int) Math.min(1 << 19, Runtime.getRuntime().maxMemory() / 24 / BYTES_PER_NODE);

  /** So many are on their way from memory at once. */
  private static final int TOUCHED = 32;

  /** Steps that one is moved by where it has as much as others in its word. */
  private static final int MOVED_MAX = 16;

  /**
   * How often keys that begin alike are sorted again. Those that still do then are keys that were
   * made for it, each the beginning of the next, say.
   */
  private static final int DEPTH_MAX = 8;

  private static final int NODE_BYTES_MIN = 16;

  private final Nodes nodes;
  private final int[] sorted;
  private final int[] spare;

  /** Eight bytes of each key, as numbers that are signed and in the order of the bytes. */
  private final long[] prefixes;

  /** As much of them as fits in front of a place in the range that is sorted. */
  private final long[] words;

  private final int count;
  private int touchedTo;

  /**
   * The keys' nodes that a walk meets next, at most {@link #NODES_MAX}.
   *
   * @param from where the walk is
   * @param to where it ends
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

  /** The nodes in their order, asked for one after the other. */
  int node(int i) {
    if (i == touchedTo) {
      touch();
    }
    return sorted[i];
  }

  /** Nodes and entries of neighbours lie anywhere in the arena: some are touched at once. */
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
   * Sorts a range.
   *
   * @param known bytes that its keys are known to share
   * @param depth ranges that it is a part of
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

  /** A word has not all of its prefix: where that tells it from the ones before, it is moved. */
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

  /** Sorts those again that have the same prefix, which the words are now. */
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

  /** How many bytes all keys of a range begin with. */
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
