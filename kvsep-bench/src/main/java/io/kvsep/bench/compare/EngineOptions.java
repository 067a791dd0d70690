package io.kvsep.bench.compare;

import java.nio.file.Path;

/**
 * Options to open an engine.
 *
 * @param cacheBytes limit of its caches; for kvsep of all its memory outside the heap
 * @param valueBytesMax length of the longest value
 * @param rawBytes bytes of keys and values that it will hold
 * @param memoryBytes what the process may use, file cache included
 */
record EngineOptions(
    Path directory,
    long cacheBytes,
    SyncMode durability,
    int valueBytesMax,
    long rawBytes,
    long memoryBytes,
    Tuning tuning) {}
