package io.kvsep.internal.engine;

import java.util.Map;

/** The engine's figures of one moment; the public record is made of them. */
public record EngineStats(
    long entries,
    long keyBytes,
    long logBytes,
    long logLiveBytes,
    long tableBytes,
    Map<String, Long> memoryBytes,
    long memoryPeakBytes,
    int[] levelTables,
    long[] levelBytes,
    long userBytesWritten,
    long deviceBytesWritten,
    long commits,
    long syncs,
    long flushes,
    long compactions,
    long stallNanos,
    int openSnapshots,
    int openCursors,
    long replayedBytes,
    long tornBytes) {}
