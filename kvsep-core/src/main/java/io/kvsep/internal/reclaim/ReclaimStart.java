package io.kvsep.internal.reclaim;

import io.kvsep.ReclaimReport;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import java.util.HashSet;
import java.util.Set;

/** Files and counters when a call of reclaim began, for its report. */
public record ReclaimStart(
    Set<Long> files, long logBytes, long filesRewritten, long bytesRead, long bytesWritten) {
  public static ReclaimStart of(Version version, long logBytes, ReclaimScheduler work) {
    return new ReclaimStart(
        filesIn(version), logBytes, work.filesRewritten(), work.bytesRead(), work.bytesWritten());
  }

  public ReclaimReport report(
      Version version, long logBytesNow, ReclaimScheduler work, long nanos) {
    Set<Long> removed = new HashSet<>(files);
    removed.removeAll(filesIn(version));
    return new ReclaimReport(
        files.size(),
        work.filesRewritten() - filesRewritten,
        removed.size(),
        work.bytesRead() - bytesRead,
        work.bytesWritten() - bytesWritten,
        Math.max(0, logBytes - logBytesNow),
        nanos / 1e9,
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
