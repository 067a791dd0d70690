package io.kvsep.internal.compaction;

import io.kvsep.internal.version.Version;
import org.jspecify.annotations.Nullable;

/** The last estimate; most calls find the same version again. Thread safe. */
final class GarbageEstimateCache {
  private final CompactionConfig config;
  private volatile @Nullable GarbageEstimate last;

  GarbageEstimateCache(CompactionConfig config) {
    this.config = config;
  }

  GarbageEstimate of(Version version, long oldestReader) {
    GarbageEstimate hidden = last;
    if (hidden == null || !hidden.isOf(version, oldestReader)) {
      hidden = new GarbageEstimate(version, config, oldestReader);
      last = hidden;
    }
    return hidden;
  }
}
