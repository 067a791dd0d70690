package io.kvsep.testing;

import io.kvsep.internal.cache.ReaderCache;
import io.kvsep.internal.sstable.TableReader;

/** Reader caches for tests of something else. */
public final class Readers {
  private Readers() {}

  /** One that never closes a table. */
  public static ReaderCache<TableReader> unbounded() {
    return new ReaderCache<>(Long.MAX_VALUE, Runnable::run);
  }
}
