package io.kvsep.internal.reclaim;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.function.BooleanSupplier;

/**
 * What a job needs of the store it works for.
 *
 * @param segments finds the records
 * @param epochs keeps what is found from going away while it is copied
 * @param cancelled whether the job should give up
 * @param readsAhead whether victims may be brought into memory from end to end before their records
 *     are copied one by one
 * @param pieceBytes what is written at once
 */
public record ReclaimContext(
    Storage storage,
    StoreId storeId,
    MemoryLedger ledger,
    SegmentDirectory segments,
    Epochs<?> epochs,
    Pace pace,
    BooleanSupplier cancelled,
    BooleanSupplier readsAhead,
    int pieceBytes) {}
