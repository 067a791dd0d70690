package io.kvsep.internal.commit;

/**
 * What a write depends on. The leader asks it between two groups, when nobody else can commit, so
 * the write is atomic with the answer.
 */
interface CommitCondition {
  /**
   * Whether the write may happen, given everything committed before it. May encode its frame anew,
   * as long as it was. An error fails the write alone.
   */
  boolean holds(WriteRequest request);
}
