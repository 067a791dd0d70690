package io.kvsep.testing;

/** What becomes of one unsynced change in a crash. */
enum Verdict {
  KEPT,
  DROPPED,
  /** Of a write only: some sectors are new, the others old, zero or garbage. */
  TORN
}
