package io.kvsep.internal.compaction;

import io.kvsep.internal.version.Version;
import org.jspecify.annotations.Nullable;

/**
 * What is hidden in the version that was looked at last: most looks find the same one again. Thread
 * safe.
 */
final class LastHidden {
  private final CompactionConfig config;
  private volatile @Nullable HiddenBytes last;

  LastHidden(CompactionConfig config) {
    this.config = config;
  }

  HiddenBytes of(Version version, long oldestReader) {
    HiddenBytes hidden = last;
    if (hidden == null || !hidden.isOf(version, oldestReader)) {
      hidden = new HiddenBytes(version, config, oldestReader);
      last = hidden;
    }
    return hidden;
  }

  /** Forgets it if something that it depends on could not be read. */
  void forgetIncomplete() {
    HiddenBytes hidden = last;
    if (hidden != null && !hidden.isComplete()) {
      last = null;
    }
  }
}
