package io.kvsep.internal.compaction;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.MemoryLedger;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * What a job needs of the store it works for.
 *
 * @param fileNumbers hands out numbers for new tables
 * @param boundaries sequence numbers somebody may read at, ascending, never empty
 * @param nowMillis decides what has expired
 * @param pointers brings pointers up to date that are written anew
 * @param cancelled whether the job should give up
 */
public record JobContext(
    Storage storage,
    MemoryLedger ledger,
    CompactionConfig config,
    LongSupplier fileNumbers,
    long[] boundaries,
    long nowMillis,
    PointerRefresh pointers,
    BooleanSupplier cancelled) {
  /** The same for a job that gives up for another reason as well. */
  public JobContext cancelledToo(BooleanSupplier other) {
    return new JobContext(
        storage,
        ledger,
        config,
        fileNumbers,
        boundaries,
        nowMillis,
        pointers,
        () -> cancelled.getAsBoolean() || other.getAsBoolean());
  }
}
