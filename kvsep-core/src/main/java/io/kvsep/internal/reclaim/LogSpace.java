package io.kvsep.internal.reclaim;

import io.kvsep.SegmentStats;
import io.kvsep.StoreStats;
import io.kvsep.internal.background.FileRemover;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableTotal;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Size of the value-log files and of the live data in them. Live records count for the file that
 * holds them, not for the segment they came from. Every method iterates over all files. Thread
 * safe.
 */
public final class LogSpace {
  private final SegmentDirectory segments;
  private final VersionSet versions;
  private final FileRemover remover;

  public LogSpace(SegmentDirectory segments, VersionSet versions, FileRemover remover) {
    this.segments = segments;
    this.versions = versions;
    this.remover = remover;
  }

  public long bytes() {
    return segments.bytes() + remover.hiddenSegmentBytes();
  }

  public int fileCount() {
    return segments.all().size() + remover.hiddenSegments();
  }

  /** Bytes of the files in the version, except the spare. */
  public long bytesInForce(Version version) {
    Map<Long, SegmentState> inForce = version.segments();
    long bytes = 0;
    for (Segment segment : segments.all()) {
      boolean used = segment.publishedEnd() > Segment.EMPTY_BYTES;
      bytes += used && isInForce(segment, inForce) ? segment.publishedEnd() : 0;
    }
    return bytes;
  }

  /** Record bytes that the version's tables reference, plus everything after its last flush. */
  public long liveBytes(Version version) {
    return version.liveBytes() + unflushedBytes(version);
  }

  /** Record bytes after the version's last flush, which only memtables reference. */
  public long unflushedBytes(Version version) {
    long bytes = 0;
    for (Segment segment : segments.all()) {
      bytes += unflushedBytes(segment, version.replayFrom());
    }
    return bytes;
  }

  /**
   * Lists segments before it reads the version, so the version contains all that are not pinned.
   */
  public StoreStats.Pinned pinned(TableTotal tables, long memtableBytes) {
    List<Segment> there = segments.all();
    Map<Long, SegmentState> inForce = versions.current().segments();
    int count = remover.hiddenSegments();
    long bytes = remover.hiddenSegmentBytes();
    for (Segment segment : there) {
      if (!isInForce(segment, inForce)) {
        count++;
        bytes += segment.publishedEnd();
      }
    }
    return new StoreStats.Pinned(tables.count(), tables.bytes(), count, bytes, memtableBytes);
  }

  /** All files in ascending id order, listed before the version is read. */
  public List<SegmentStats> files() {
    List<Segment> there = segments.all();
    Version version = versions.current();
    Map<Long, Long> live = version.liveBytesByFile();
    Map<Long, SegmentState> inForce = version.segments();
    List<SegmentStats> files = new ArrayList<>();
    for (Segment segment : there) {
      long needed =
          live.getOrDefault(segment.id(), 0L) + unflushedBytes(segment, version.replayFrom());
      files.add(
          new SegmentStats(
              segment.name(),
              segment.publishedEnd(),
              needed,
              segment.isRelocated(),
              !isInForce(segment, inForce)));
    }
    return files;
  }

  private static boolean isInForce(Segment segment, Map<Long, SegmentState> inForce) {
    SegmentState state = inForce.get(segment.id());
    return state != null && state.hasFile();
  }

  /** Blob files may have higher ids, but no unflushed data. */
  private static long unflushedBytes(Segment segment, LogPosition from) {
    if (segment.isRelocated() || segment.id() < from.segment()) {
      return 0;
    }
    long start = segment.id() == from.segment() ? from.offset() : 0;
    return Math.max(0, segment.publishedEnd() - Math.max(start, Segment.EMPTY_BYTES));
  }
}
