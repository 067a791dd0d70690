package io.kvsep.internal.compaction;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.MemoryLedger;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * Resources of the store for one job.
 *
 * @param fileNumbers supplies numbers for new tables
 * @param boundaries sequence numbers at which anything may be read, ascending, never empty
 * @param nowMillis decides what has expired
 * @param pointers replaces the pointers of written entries
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
    BooleanSupplier cancelled) {}
