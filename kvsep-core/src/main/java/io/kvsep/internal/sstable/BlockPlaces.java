package io.kvsep.internal.sstable;

/** Offsets of the blocks of a table, in order. */
interface BlockPlaces {
  int blockCount();

  long blockStart(int block);

  long blockEnd(int block);
}
