package io.kvsep.internal.memtable;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Nodes of a memtable, each drawn with the same chance: all while they are few, then every second,
 * fourth and so on, by a hash of the insertion order. One thread adds while any number of threads
 * read; a reader that comes while every second one is dropped may get a slightly wrong sample.
 */
final class EntrySample {
  /** The standard error of an estimate is about 2 percent of all entries. */
  static final int COUNT_MAX = 1024;

  private final int[] nodes = new int[COUNT_MAX];
  private final int[] ranks = new int[COUNT_MAX];
  private final AtomicInteger count = new AtomicInteger();

  /** One in two to this power is drawn. */
  private volatile int thinning;

  /**
   * Nodes and how many entries each stands for. Immutable.
   *
   * @param nodes the first {@code count} are drawn
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Drawn(int[] nodes, int count, long weight) {}

  /** Called by the inserting thread, with the number of the entry. */
  void add(long number, int node) {
    int rank = rank(number);
    while (isDrawn(rank) && !put(rank, node)) {
      thin();
    }
  }

  private boolean put(int rank, int node) {
    int at = count.getPlain();
    if (at == COUNT_MAX) {
      return false;
    }
    nodes[at] = node;
    ranks[at] = rank;
    count.setRelease(at + 1);
    return true;
  }

  private void thin() {
    int power = thinning + 1;
    thinning = power;
    int kept = 0;
    for (int i = 0; i < COUNT_MAX; i++) {
      if (isDrawn(ranks[i])) {
        nodes[kept] = nodes[i];
        ranks[kept++] = ranks[i];
      }
    }
    count.setRelease(kept);
  }

  Drawn drawn() {
    int power = thinning;
    int drawn = count.getAcquire();
    return new Drawn(nodes.clone(), drawn, 1L << power);
  }

  private boolean isDrawn(int rank) {
    return (rank & ((1L << thinning) - 1)) == 0;
  }

  private static int rank(long number) {
    long bits = (number + 1) * 0x9e3779b97f4a7c15L;
    bits = (bits ^ bits >>> 32) * 0xbf58476d1ce4e5b9L;
    return (int) (bits >>> 32);
  }
}
