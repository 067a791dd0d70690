package io.kvsep.internal.reclaim;

import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.RecordOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the value-log files with the largest fraction of garbage, which free the most bytes per
 * byte copied: the cost-benefit policy of log-structured file systems (M. Rosenblum, J. Ousterhout,
 * SOSP 1991). The result depends only on the arguments.
 *
 * <p>Candidates are files that only tables reference: blob files, and log segments entirely before
 * the replay position that are not retained.
 */
public final class ReclaimPicker {
  /** Bounds the memory for old and new positions, eight bytes each. */
  private static final long RECORDS_MAX = 2 << 20;

  public static final int FILES_MAX = 64;

  /** Files and tables to skip because they cannot be read. */
  public record Damage(Set<Long> segmentFiles, Set<Long> tables) {
    public static final Damage NONE = new Damage(Set.of(), Set.of());
  }

  private final ReclaimGoal goal;

  public ReclaimPicker(ReclaimGoal goal) {
    this.goal = goal;
  }

  /**
   * Bytes in all candidates.
   *
   * @param retainedBytes garbage in files that are no candidates only because they are retained
   */
  public record Balance(long garbageBytes, long neededBytes, long retainedBytes) {}

  /**
   * What rewriting everything would free; counts the index of blob files as garbage. Iterates over
   * the segments.
   */
  public Balance balance(Version version) {
    long retainedFrom = version.retainedFrom(goal.retainedBytes());
    long bytes = 0;
    long needed = 0;
    long retained = 0;
    for (SegmentState segment : version.segments().values()) {
      if (isCandidate(version, segment, retainedFrom)) {
        bytes += segment.sealedLength();
      } else if (isCandidate(version, segment, Long.MAX_VALUE)) {
        retained += segment.sealedLength() - version.liveBytes(segment.id());
      }
      if (isCandidate(version, home(version, segment), retainedFrom)) {
        needed += version.liveBytes(segment.id());
      }
    }
    return new Balance(Math.max(0, bytes - needed), needed, Math.max(0, retained));
  }

  public boolean isDue(Version version) {
    Balance balance = balance(version);
    return balance.garbageBytes > goal.dueBytes(balance.neededBytes);
  }

  /** The next job towards the goal; null if the goal is reached or no file qualifies. */
  public @Nullable ReclaimPlan pick(Version version, Damage damage) {
    if (!isDue(version)) {
      return null;
    }
    Records records = new Records(version);
    Balance balance = balance(version);
    long tooMuch = balance.garbageBytes - goal.enoughBytes(balance.neededBytes);
    List<LogFile> candidates = candidates(version, records, damage, goal.shareMin());
    long outputBytesMax = outputBytes(balance.neededBytes);
    return plan(version, records, candidates, tooMuch, outputBytesMax);
  }

  /** Log segments below {@code before} whose record order matters. */
  public Set<Long> orderable(Version version, Damage damage, long before) {
    Set<Long> ids = new TreeSet<>();
    orderable(version, new Records(version), damage, before).forEach(file -> ids.add(file.id()));
    return ids;
  }

  /**
   * A job that rewrites log segments below {@code before} in key order; null if there is none.
   *
   * @param scattered whether the records of a segment are out of key order
   * @param bytesMax maximum length of the output file
   */
  public @Nullable ReclaimPlan pickScattered(
      Version version, Damage damage, long before, LongPredicate scattered, long bytesMax) {
    Records records = new Records(version);
    List<LogFile> files = orderable(version, records, damage, before);
    files.removeIf(file -> !scattered.test(file.id()));
    long outputBytesMax = Math.min(bytesMax, orderedBytes(version.liveBytes()));
    return plan(version, records, files, Long.MAX_VALUE, outputBytesMax);
  }

  private List<LogFile> orderable(Version version, Records records, Damage damage, long before) {
    List<LogFile> files = candidates(version, records, damage, /* shareMin= */ 0);
    files.removeIf(
        file ->
            file.id() >= before
                || !Objects.requireNonNull(version.segments().get(file.id())).isLog()
                || file.neededBytes() / file.records() >= RecordOrder.SCATTERED_BYTES_MAX);
    return files;
  }

  /** The next job towards no garbage in files up to {@code last}; null if hardly any is left. */
  public @Nullable ReclaimPlan pickAll(Version version, Damage damage, long last) {
    Records records = new Records(version);
    List<LogFile> candidates = candidates(version, records, damage, ReclaimGoal.SHARE_MIN_ASKED);
    candidates.removeIf(file -> file.id() > last);
    return plan(version, records, candidates, Long.MAX_VALUE, goal.outputBytesMax());
  }

  /** Small compared to the needed bytes: a job writes its output before it deletes anything. */
  private long outputBytes(long neededBytes) {
    return Math.min(goal.outputBytesMax(), Math.max(goal.slackBytes(), neededBytes / 8));
  }

  /**
   * Half of the allowed garbage. Large, because a scan reads from all files with its key range at
   * once, and such a job meets hardly any other garbage.
   */
  private long orderedBytes(long neededBytes) {
    return Math.max(
        outputBytes(neededBytes), Math.min(goal.outputBytesMax(), goal.mostBytes(neededBytes) / 2));
  }

  private static @Nullable ReclaimPlan plan(
      Version version,
      Records records,
      List<LogFile> candidates,
      long garbageWanted,
      long outputBytesMax) {
    candidates.sort(
        Comparator.comparingDouble(LogFile::garbageShare).reversed().thenComparing(LogFile::id));
    Set<Long> files = new HashSet<>();
    long bytes = 0;
    long output = 0;
    long copied = 0;
    long garbage = 0;
    for (LogFile file : candidates) {
      boolean fits =
          file.neededBytes() <= outputBytesMax - output
              && file.records() <= RECORDS_MAX - copied
              && files.size() < FILES_MAX;
      // A file too long for any job gets a job of its own.
      if (garbage >= garbageWanted || (!fits && !files.isEmpty())) {
        break;
      }
      files.add(file.id());
      bytes += file.bytes();
      output += file.neededBytes();
      copied += file.records();
      garbage += file.garbageBytes();
    }
    return files.isEmpty() ? null : new ReclaimPlan(files, records.of(version, files), bytes);
  }

  private List<LogFile> candidates(
      Version version, Records records, Damage damage, double shareMin) {
    Set<Long> quarantined = new HashSet<>();
    // While a cursor pins a rewritten file, records of its segment are looked up there first, even
    // by a job that rewrites their new file.
    damage.segmentFiles.forEach(file -> quarantined.add(homeOf(version, file)));
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        if (damage.tables.contains(table.meta().number())) {
          table.meta().segments().forEach(use -> quarantined.add(homeOf(version, use.segment())));
        }
      }
    }
    Map<Long, Long> live = version.liveBytesByFile();
    Map<Long, Records.Count> counts = records.byFile(version);
    long retainedFrom = version.retainedFrom(goal.retainedBytes());
    List<LogFile> candidates = new ArrayList<>();
    for (SegmentState segment : version.segments().values()) {
      if (isCandidate(version, segment, retainedFrom) && !quarantined.contains(segment.id())) {
        Records.Count count = counts.getOrDefault(segment.id(), Records.Count.NONE);
        LogFile file =
            LogFile.of(
                segment.id(),
                segment.sealedLength(),
                live.getOrDefault(segment.id(), 0L),
                count.records,
                count.segments);
        if (file.garbageShare() >= shareMin && file.records() > 0) {
          candidates.add(file);
        }
      }
    }
    return candidates;
  }

  private static boolean isCandidate(Version version, SegmentState segment, long retainedFrom) {
    long end = Math.min(version.replayFrom().segment(), retainedFrom);
    return segment.hasFile() && segment.isSealed() && (segment.relocated() || segment.id() < end);
  }

  private static SegmentState home(Version version, SegmentState segment) {
    if (segment.hasFile()) {
      return segment;
    }
    SegmentState home = version.segments().get(segment.home());
    return home == null ? segment : home;
  }

  /** The file that has the records of a segment. */
  static long homeOf(Version version, long segment) {
    SegmentState state = version.segments().get(segment);
    return state == null ? segment : state.home();
  }

  /** Referenced records of each segment. */
  private static final class Records {
    private final Map<Long, Long> bySegment = new HashMap<>();

    Records(Version version) {
      for (int level = 0; level < Version.LEVELS; level++) {
        for (TableFile table : version.tables(level)) {
          for (SegmentUse use : table.meta().segments()) {
            bySegment.merge(use.segment(), use.records(), Long::sum);
          }
        }
      }
    }

    /** Referenced records in a file, and the segments they come from. */
    record Count(long records, long segments) {
      static final Count NONE = new Count(0, 0);

      Count plus(Count other) {
        return new Count(records + other.records, segments + other.segments);
      }
    }

    Map<Long, Count> byFile(Version version) {
      Map<Long, Count> counts = new HashMap<>();
      bySegment.forEach(
          (segment, records) ->
              counts.merge(homeOf(version, segment), new Count(records, 1), Count::plus));
      return counts;
    }

    /** The segments of {@code files} with referenced records. */
    Map<Long, Long> of(Version version, Set<Long> files) {
      Map<Long, Long> counts = new HashMap<>();
      bySegment.forEach(
          (segment, count) -> {
            if (files.contains(homeOf(version, segment))) {
              counts.put(segment, count);
            }
          });
      return counts;
    }
  }
}
