package io.kvsep.internal.vlog;

import org.jspecify.annotations.Nullable;

/** Current file and offset of a record. Mutable, so that following a pointer allocates nothing. */
final class RecordPlace {
  private @Nullable Segment segment;
  private long offset;

  void set(Segment home, long offsetThere) {
    segment = home;
    offset = offsetThere;
  }

  Segment segment() {
    Segment home = segment;
    if (home == null) {
      throw new IllegalStateException("no place");
    }
    return home;
  }

  long offset() {
    return offset;
  }
}
