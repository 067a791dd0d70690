package io.kvsep.internal.reclaim;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.KvException;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.compaction.PointerTargets;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.BlobFilePointers;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Lets compactions write pointers directly into blob files, and keeps reclaim from rewriting these
 * meanwhile, because a job copies only what the tables of its version reference.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: No file is both pinned by a running compaction and a victim of a running job.
 *   <li>I2: The version of a job contains the result of every compaction that pinned one of its
 *       victims before.
 * </ul>
 *
 * <p>A job or compaction runs until its result is installed or discarded. Only files with too
 * little garbage for any job are pinned, so jobs need not wait where values die soon after they
 * were moved. Thread safe.
 */
public final class RefreshTargets implements PointerTargets {
  /** No job rewrites a file with a larger live fraction. */
  private static final double LIVE_SHARE_MIN = 1 - ReclaimGoal.SHARE_MIN_ASKED;

  /** Tables are rewritten if more than one value in this many has moved. */
  private static final long MOVED_PARTS = 8;

  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;

  private final ReentrantLock lock = new ReentrantLock();

  /** Number of pinning compactions by file. */
  @GuardedBy("lock")
  private Map<Long, Integer> pinned = new HashMap<>();

  /** Files of the current job. */
  @GuardedBy("lock")
  private Set<Long> victims = Set.of();

  public RefreshTargets(VersionSet versions, SegmentDirectory segments, Epochs<?> epochs) {
    this.versions = versions;
    this.segments = segments;
    this.epochs = epochs;
  }

  private final class HomePins implements Pins {
    /** Blob files by original segment. */
    private final Map<Long, Segment> homes;

    /** The pinned files. Preallocated: unpinning must not allocate. */
    private final Long[] files;

    HomePins(Map<Long, Segment> homes) {
      this.homes = homes;
      this.files = homes.values().stream().map(Segment::id).distinct().toArray(Long[]::new);
    }

    @Override
    public PointerRefresh pointers() {
      if (homes.isEmpty()) {
        return PointerRefresh.NONE;
      }
      BlobFilePointers pointers = new BlobFilePointers(homes, segments.cold());
      return (entry, pointerOffset, target, targetOffset) ->
          pointers.refresh(entry.payloadRegion(), pointerOffset, target, targetOffset);
    }

    @Override
    public void close() {
      lock.lock();
      try {
        for (Long file : files) {
          unpin(file);
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** The next job on a version retained for it. */
  record Claim(Version version, @Nullable ReclaimPlan plan, RefreshTargets targets)
      implements AutoCloseable {
    @Override
    public void close() {
      targets.forgetVictims();
      version.release();
    }
  }

  /** Pins the blob files with values of the plan's tables and hardly any garbage. */
  @Override
  public Pins pin(CompactionPlan plan) {
    if (plan.move()) {
      return new HomePins(Map.of());
    }
    Map<Long, Segment> wanted = epochs.inside(context -> settledHomes(plan));
    lock.lock();
    try {
      Map<Long, SegmentState> now = versions.current().segments();
      Set<Long> leaving = victims;
      wanted
          .entrySet()
          .removeIf(
              name -> {
                SegmentState state = now.get(name.getKey());
                long home = name.getValue().id();
                return state == null || state.home() != home || leaving.contains(home);
              });
      HomePins pins = new HomePins(wanted);
      Map<Long, Integer> more = new HashMap<>(pinned);
      for (Long file : pins.files) {
        more.merge(file, 1, Integer::sum);
      }
      // Last, because after a failure no pins would be closed.
      pinned = more;
      return pins;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Chooses a job in the current version. One claim at a time.
   *
   * @param choice gets the pinned files, which it must not choose
   */
  Claim claim(BiFunction<Version, Set<Long>, @Nullable ReclaimPlan> choice) {
    lock.lock();
    try {
      // Contains the output of all compactions that have ended.
      Version version = versions.retainCurrent();
      boolean chosen = false;
      try {
        ReclaimPlan plan = choice.apply(version, Set.copyOf(pinned.keySet()));
        Claim claim = new Claim(version, plan, this);
        victims = plan == null ? Set.of() : plan.files();
        chosen = true;
        return claim;
      } finally {
        if (!chosen) {
          version.release();
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void forgetVictims() {
    lock.lock();
    try {
      victims = Set.of();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void unpin(Long file) {
    pinned.computeIfPresent(file, (id, pins) -> pins == 1 ? null : pins - 1);
  }

  @Override
  public Predicate<TableFile> withMovedValues(Version version) {
    SettledFiles settled = new SettledFiles(version);
    return table -> epochs.inside(slot -> hasMovedValues(version, settled, table));
  }

  private static boolean hasMovedValues(Version version, SettledFiles settled, TableFile table) {
    long records = 0;
    long moved = 0;
    for (SegmentUse use : table.meta().segments()) {
      records += use.records();
      SegmentState state = version.segments().get(use.segment());
      if (state != null && !state.hasFile() && settled.test(state.home())) {
        moved += use.records();
      }
    }
    return moved > records / MOVED_PARTS;
  }

  private Map<Long, Segment> settledHomes(CompactionPlan plan) {
    Map<Long, Segment> homes = new HashMap<>();
    Version version = versions.current();
    SettledFiles settled = new SettledFiles(version);
    for (TableFile table : plan.tables()) {
      for (SegmentUse use : table.meta().segments()) {
        SegmentState state = version.segments().get(use.segment());
        Segment home = state == null || state.hasFile() ? null : segments.find(state.home());
        if (home != null && settled.test(home.id())) {
          homes.put(use.segment(), home);
        }
      }
    }
    return homes;
  }

  /** Which files have hardly any garbage in a version. Used inside the epochs. */
  private final class SettledFiles {
    private final Version version;
    private final Map<Long, Boolean> known = new HashMap<>();
    private @Nullable Map<Long, Long> live;

    SettledFiles(Version version) {
      this.version = version;
    }

    boolean test(long file) {
      return known.computeIfAbsent(file, this::isSettled);
    }

    private boolean isSettled(long file) {
      Map<Long, Long> liveBytes = live == null ? version.liveBytesByFile() : live;
      live = liveBytes;
      Segment found = segments.find(file);
      try {
        return found != null
            && liveBytes.getOrDefault(file, 0L) >= LIVE_SHARE_MIN * found.relocatedBytes();
      } catch (KvException | InternalError e) {
        // Reads of its values report the error.
        return false;
      }
    }
  }
}
