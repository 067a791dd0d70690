package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;

/** When writes reach stable storage. */
enum SyncMode {
  /** When the operating system writes them back. */
  NONE("none"),
  /** Within a second. */
  ASYNC("async"),
  /** Before a put or a batch returns. */
  SYNC("sync");

  final String word;

  SyncMode(String word) {
    this.word = word;
  }

  static SyncMode of(String word) {
    for (SyncMode mode : values()) {
      if (mode.word.equals(word)) {
        return mode;
      }
    }
    throw new UsageException("--durability must be one of none, async, sync: " + word);
  }
}
