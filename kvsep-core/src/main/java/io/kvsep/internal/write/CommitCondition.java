package io.kvsep.internal.write;

/**
 * The condition of a conditional write. The commit leader checks it between two groups, so the
 * check and the write are atomic.
 */
public interface CommitCondition {
  /**
   * Whether the write may happen, given everything committed before it. May encode the frame again
   * with the same length. An error fails this write alone.
   */
  boolean holds(WriteRequest request);

  /**
   * Checks what is committed so far, to leave less to the leader. Returns false if the condition
   * already fails.
   */
  default boolean advance() {
    return true;
  }

  /**
   * Whether so much was committed since the last check that {@link #advance} should run again
   * first.
   */
  default boolean isBehind() {
    return false;
  }
}
