package io.kvsep.internal.version;

import io.kvsep.internal.io.StoreFiles;
import java.util.concurrent.atomic.AtomicLong;

/** Numbers for new files; none is ever given out that a file has had. Thread safe. */
final class FileNumbers {
  /** Numbers stay below, so that counting on from any number a file has never overflows. */
  static final long LIMIT = 1L << 62;

  /**
   * No process takes so many numbers without an edit, which records them: a file with a higher one
   * is somebody else's, and counting on from there would make lists by number too long for memory.
   */
  private static final long AHEAD_MAX = 1 << 20;

  /** Of tables and manifests. */
  private final AtomicLong nextFile = new AtomicLong(1);

  private final AtomicLong nextSegment = new AtomicLong(1);

  long newFile() {
    return nextFile.getAndIncrement();
  }

  long newSegment() {
    return nextSegment.getAndIncrement();
  }

  /** The edit, and with it which numbers are taken. */
  VersionEdit record(VersionEdit edit) {
    return edit.withCounters(nextFile.get(), nextSegment.get());
  }

  /** What a manifest says is taken. */
  void take(EditReplay replay) {
    raise(nextFile, replay.nextFileNumber());
    raise(nextSegment, replay.nextSegmentId());
    take(replay.snapshot());
  }

  /** Numbers in an edit that did not come from here are not given out either. */
  void take(VersionEdit edit) {
    edit.nextFileNumber().ifPresent(number -> raise(nextFile, number));
    edit.addedTables().forEach(table -> raise(nextFile, table.meta().number() + 1));
    edit.addedSegmentFiles().forEach(id -> raise(nextSegment, id + 1));
  }

  /** Nor is the number of a file that is there, whoever made it. */
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
