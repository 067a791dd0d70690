package io.kvsep.internal.memory;

/** What off-heap memory is held for; the keys of {@code StoreStats.memoryBytes()}. */
public enum MemoryPurpose {
  /** Skip-list arenas. */
  MEMTABLE,
  /** Encoded writes on their way to the log. */
  COMMIT,
  /** Keys, values and blocks a read or a cursor works with. */
  READ,
  /** Blocks, indexes and filters of tables being written. */
  TABLE_BUILD,
  /** Records being copied out of old segments. */
  RECLAIM,
  /** Entries that are sorted for a bulk load, and records of one on their way to a file. */
  BULK_LOAD,
  /** Unpacked blocks of tables. */
  BLOCK_CACHE
}
