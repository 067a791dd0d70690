package io.kvsep.internal.memory;

/** Purposes of off-heap memory; the keys of {@code StoreStats.memoryBytes()}. */
public enum MemoryPurpose {
  /** Skip-list arenas. */
  MEMTABLE,
  /** Encoded writes before they are appended to the log. */
  COMMIT,
  /** Keys, values and blocks used by reads and cursors. */
  READ,
  /** Blocks, indexes and filters of tables being written. */
  TABLE_BUILD,
  /** Records being copied out of old segments. */
  RECLAIM,
  /** Entries sorted for a bulk load, and records of new blob files before they are written. */
  BULK_LOAD,
  /** Decompressed table blocks. */
  BLOCK_CACHE
}
