package io.kvsep.internal.reclaim;

import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What a call of reclaim did; the components are those of {@code ReclaimReport}. */
public record ReclaimResult(
    long filesExamined,
    long filesRewritten,
    long filesRemoved,
    long bytesRead,
    long bytesWritten,
    long bytesFreed,
    long nanos,
    List<String> damagedFiles) {

  public record Start(
      Set<Long> files, long logBytes, long filesRewritten, long bytesRead, long bytesWritten) {
    public static Start of(Version version, long logBytes, ReclaimScheduler work) {
      return new Start(
          filesIn(version), logBytes, work.filesRewritten(), work.bytesRead(), work.bytesWritten());
    }

    public ReclaimResult result(
        Version version, long logBytesNow, ReclaimScheduler work, long nanos) {
      Set<Long> removed = new HashSet<>(files);
      removed.removeAll(filesIn(version));
      return new ReclaimResult(
          files.size(),
          work.filesRewritten() - filesRewritten,
          removed.size(),
          work.bytesRead() - bytesRead,
          work.bytesWritten() - bytesWritten,
          Math.max(0, logBytes - logBytesNow),
          nanos,
          work.damagedFiles());
    }

    private static Set<Long> filesIn(Version version) {
      Set<Long> files = new HashSet<>();
      for (SegmentState segment : version.segments().values()) {
        files.add(segment.home());
      }
      return files;
    }
  }
}
