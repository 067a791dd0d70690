package io.kvsep.internal.version;

import io.kvsep.internal.io.StoreFiles;
import java.util.concurrent.atomic.AtomicLong;

/** Allocates numbers that no file has had. Thread safe. */
final class FileNumbers {
  /** Counting on from any lower number never overflows. */
  static final long LIMIT = 1L << 62;

  /**
   * A process takes fewer numbers before an edit records them. A file with a higher number is
   * foreign: counting on from it would make lists by number too long for memory.
   */
  private static final long AHEAD_MAX = 1 << 20;

  /** Numbers tables and manifests. */
  private final AtomicLong nextFile = new AtomicLong(1);

  private final AtomicLong nextSegment = new AtomicLong(1);

  long newFile() {
    return nextFile.getAndIncrement();
  }

  long newSegment() {
    return nextSegment.getAndIncrement();
  }

  VersionEdit record(VersionEdit edit) {
    return edit.withCounters(nextFile.get(), nextSegment.get());
  }

  void take(EditReplay replay) {
    raise(nextFile, replay.nextFileNumber());
    raise(nextSegment, replay.nextSegmentId());
    take(replay.snapshot());
  }

  /** Reserves numbers allocated elsewhere. */
  void take(VersionEdit edit) {
    edit.nextFileNumber().ifPresent(number -> raise(nextFile, number));
    edit.addedTables().forEach(table -> raise(nextFile, table.meta().number() + 1));
    edit.addedSegmentFiles().forEach(id -> raise(nextSegment, id + 1));
  }

  /** Reserves the number of any existing file. */
  void take(String name) {
    String temporarySuffix = StoreFiles.temporary("");
    String finished =
        StoreFiles.kindOf(name) == StoreFiles.Kind.TEMPORARY
            ? name.substring(0, name.length() - temporarySuffix.length())
            : name;
    switch (StoreFiles.kindOf(finished)) {
      case MANIFEST, TABLE -> skip(nextFile, StoreFiles.numberOf(finished));
      case SEGMENT -> skip(nextSegment, StoreFiles.numberOf(finished));
      case CURRENT, LOCK, TEMPORARY, OTHER -> {}
    }
  }

  private static void skip(AtomicLong counter, long number) {
    if (number < Math.min(LIMIT, counter.get() + AHEAD_MAX)) {
      raise(counter, number + 1);
    }
  }

  private static void raise(AtomicLong counter, long least) {
    counter.accumulateAndGet(least, Math::max);
  }
}
