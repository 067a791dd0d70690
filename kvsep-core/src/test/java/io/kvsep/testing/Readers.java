package io.kvsep.testing;

import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableCache;

/** Caches for tests of something else. */
public final class Readers {
  private Readers() {}

  /** One that keeps everything. */
  public static TableCache unbounded() {
    return unbounded(new MemoryLedger());
  }

  /** As above; the ledger pays for what is kept. */
  public static TableCache unbounded(MemoryLedger ledger) {
    return new TableCache(
        Long.MAX_VALUE, Long.MAX_VALUE, Runnable::run, ledger, ColdReadPolicy.WARM);
  }
}
