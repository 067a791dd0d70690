package io.kvsep.internal.sstable;

/** Offsets of the blocks of a table, in order. */
interface BlockPlaces {
  int count();

  long start(int block);

  long end(int block);

  /** The offsets in the index. */
  static BlockPlaces of(TableIndex index) {
    return new BlockPlaces() {
      @Override
      public int count() {
        return index.blockCount();
      }

      @Override
      public long start(int block) {
        return index.blockOffset(block);
      }

      @Override
      public long end(int block) {
        return index.blockOffset(block + 1);
      }
    };
  }
}
