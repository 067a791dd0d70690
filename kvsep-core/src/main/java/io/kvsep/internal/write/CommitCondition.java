package io.kvsep.internal.write;

/**
 * A condition that the commit leader checks between two groups, so that check and write are atomic.
 */
public interface CommitCondition {
  /**
   * Whether the write may happen after everything committed. May encode the frame again with the
   * same length. An error fails this write alone.
   */
  boolean holds(WriteRequest request);

  /**
   * Checks what is committed so far, to leave less to the leader; returns false if the condition
   * fails.
   */
  default boolean advance() {
    return true;
  }

  /** Whether so much was committed since that {@link #advance} should run again. */
  default boolean isBehind() {
    return false;
  }
}
