package io.kvsep.bench.compare;

import java.nio.file.Path;

/**
 * Options to open an engine.
 *
 * @param cacheBytes limit of its caches; for kvsep of all its memory outside the heap
 * @param valueBytesMax length of the longest value
 * @param rawBytes bytes of keys and values that it will hold
 * @param tuning what else differs from the defaults of the engine
 */
record EngineOptions(
    Path directory,
    long cacheBytes,
    SyncMode durability,
    int valueBytesMax,
    long rawBytes,
    Tuning tuning) {

  long cacheMebibytes() {
    return cacheBytes >> 20;
  }

  /** As one word: what is set for every row of an engine, the tuning, and the durability. */
  String settings(String always) {
    return always + (tuning.isEmpty() ? "" : "," + tuning) + ",durability=" + durability.word;
  }
}
