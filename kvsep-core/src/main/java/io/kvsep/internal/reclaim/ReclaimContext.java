package io.kvsep.internal.reclaim;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.function.BooleanSupplier;

/**
 * What a job needs from its store.
 *
 * @param segments finds the records
 * @param epochs protects segments while their records are copied
 * @param cancelled whether the job must stop
 * @param readsAhead whether victims may be read sequentially into memory before their records are
 *     copied one by one
 */
public record ReclaimContext(
    Storage storage,
    StoreId storeId,
    MemoryLedger ledger,
    SegmentDirectory segments,
    Epochs<?> epochs,
    Pace pace,
    BooleanSupplier cancelled,
    BooleanSupplier readsAhead) {}
