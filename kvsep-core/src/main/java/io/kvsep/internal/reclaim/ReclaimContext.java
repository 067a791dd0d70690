package io.kvsep.internal.reclaim;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.SegmentDirectory;

/**
 * The parts of a store that reclaim works with.
 *
 * @param epochs protects segments while their records are copied
 */
public record ReclaimContext(
    EngineConfig config,
    CurrentReadState currentState,
    VersionSet versions,
    SegmentDirectory segments,
    Epochs<?> epochs,
    FailureState failure,
    MemoryLedger ledger) {}
