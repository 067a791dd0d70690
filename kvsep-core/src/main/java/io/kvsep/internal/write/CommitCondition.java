package io.kvsep.internal.write;

/**
 * What a write depends on. The leader asks it between two groups, when nobody else can commit, so
 * the write is atomic with the answer.
 */
public interface CommitCondition {
  /**
   * Whether the write may happen, given everything committed before it. May encode its frame anew,
   * as long as it was. An error fails the write alone.
   */
  boolean holds(WriteRequest request);

  /** Looks at what was committed by now, for the leader to have less to do; false when it fails. */
  default boolean advance() {
    return true;
  }

  /** Whether so much was committed since that {@link #advance} should look before the leader. */
  default boolean isBehind() {
    return false;
  }
}
