package io.kvsep.cluster;

/**
 * How new the state is that a read sees. Reads are always served by the store of this node; they
 * differ in what they wait for first.
 */
public final class Consistency {
  /**
   * The read sees every write that was acknowledged, on any node, before the read began. Costs an
   * entry of the log, which reads that begin at the same time share.
   */
  public static final Consistency LINEARIZABLE = new Consistency(-1);

  /**
   * On the leader: what it has applied, at no cost. A leader that was cut off from the others does
   * not know at once that there is a new one, and answers from its old state until then. On other
   * nodes as {@link #LINEARIZABLE}.
   */
  public static final Consistency LEADER = new Consistency(-2);

  /** As the {@link CallScope} of the thread says. */
  static final Consistency OF_CALL = new Consistency(-3);

  private final long minIndex;

  private Consistency(long minIndex) {
    this.minIndex = minIndex;
  }

  /**
   * Whatever this node has applied, but at least up to an index of the log, such as the result of
   * {@link ReplicatedStore#write}: a client that passes on the index of its last write sees its own
   * writes on every node. The read waits until the node has reached the index.
   *
   * @param minIndex 0 or less for any state
   * @return the consistency
   */
  public static Consistency stale(long minIndex) {
    return new Consistency(Math.max(0, minIndex));
  }

  boolean isStale() {
    return minIndex >= 0;
  }

  long minIndex() {
    return minIndex;
  }

  @Override
  public String toString() {
    return isStale()
        ? "STALE(" + minIndex + ")"
        : this == LEADER ? "LEADER" : this == OF_CALL ? "OF_CALL" : "LINEARIZABLE";
  }
}
