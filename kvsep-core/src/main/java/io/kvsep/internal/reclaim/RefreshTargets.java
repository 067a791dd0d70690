package io.kvsep.internal.reclaim;

import io.kvsep.error.KvException;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.IndirectPointerPicker;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.compaction.PointerTargets;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.SlotContext;
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
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets compactions write pointers that lead straight into relocated files, and keeps reclaim from
 * rewriting such a file meanwhile: a job knows only the names under which the tables of its version
 * point to a record.
 *
 * <p>Invariant: no file is both pinned by a compaction whose result is not in force yet and a
 * victim of a job whose result is not in force yet; and a job's version is at least as new as the
 * result of each compaction that pinned one of its victims before.
 *
 * <p>Only files with hardly any garbage are pinned, which no job would rewrite: where values die
 * soon after they were moved, compactions leave pointers alone and jobs wait for nobody. Thread
 * safe.
 */
public final class RefreshTargets implements PointerTargets {
  /** With more live bytes than that no job takes a file. */
  private static final double LIVE_SHARE_MIN = 1 - ReclaimGoal.SHARE_MIN_ASKED;

  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;

  /** Guards the two below. */
  private final NonAllocatingLock lock = new NonAllocatingLock();

  /** By file, the compactions that write pointers into it. */
  private Map<Long, Integer> pinned = new HashMap<>();

  private Set<Long> victims = Set.of();

  public RefreshTargets(VersionSet versions, SegmentDirectory segments, Epochs<?> epochs) {
    this.versions = versions;
    this.segments = segments;
    this.epochs = epochs;
  }

  /** Files that a compaction may point into, until this is closed. */
  private final class HomePins implements Pins {
    /** By the segment that used to have the records. */
    private final Map<Long, Segment> homes;

    /** The files; made ahead, since there may be no memory left when they are given back. */
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

    /** After the compaction's result was put in force, or given up. */
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

  /**
   * The next job of reclaim, if any, on a version that is retained for it.
   *
   * @param hindered whether files were left out because compactions point into them
   */
  record Claim(
      Version version, @Nullable ReclaimPlan plan, boolean hindered, RefreshTargets targets)
      implements AutoCloseable {
    /** After the job's result was put in force, or given up. */
    @Override
    public void close() {
      targets.forgetVictims();
      version.release();
    }
  }

  /** Pins the files in which values of the plan's tables are now, as far as they are settled. */
  @Override
  public Pins pin(CompactionPlan plan) {
    if (plan.move()) {
      return new HomePins(Map.of());
    }
    Map<Long, Segment> wanted = inside(epochs, () -> settledHomes(plan));
    lock.lock();
    try {
      Map<Long, SegmentState> now = versions.current().segments();
      wanted
          .entrySet()
          .removeIf(
              name -> {
                SegmentState state = now.get(name.getKey());
                long home = name.getValue().id();
                return state == null || state.home() != home || victims.contains(home);
              });
      HomePins pins = new HomePins(wanted);
      Map<Long, Integer> more = new HashMap<>(pinned);
      for (Long file : pins.files) {
        more.merge(file, 1, Integer::sum);
      }
      // Only now, when nothing can fail any more, for nobody would unpin them.
      pinned = more;
      return pins;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Has a job chosen by the current version and the pinned files, one at a time.
   *
   * @param choice must not choose one of the files it is given
   */
  Claim claim(BiFunction<Version, Set<Long>, @Nullable ReclaimPlan> choice) {
    lock.lock();
    try {
      // What compactions that have ended wrote is in this version.
      Version version = versions.retainCurrent();
      boolean chosen = false;
      try {
        ReclaimPlan plan = choice.apply(version, Set.copyOf(pinned.keySet()));
        Claim claim = new Claim(version, plan, !pinned.isEmpty(), this);
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

  private void unpin(Long file) {
    pinned.computeIfPresent(file, (id, pins) -> pins == 1 ? null : pins - 1);
  }

  /**
   * The next table to be rewritten because its values have moved, as {@link
   * IndirectPointerPicker#pick}: into files that {@link #pin} takes, or the rewrite would be in
   * vain.
   */
  @Override
  public @Nullable CompactionPlan pickDetour(Version version, Predicate<TableFile> mayRewrite) {
    return inside(
        epochs,
        () -> IndirectPointerPicker.pick(version, new SettledFiles(version)::test, mayRewrite));
  }

  /** Inside the epochs, as nothing keeps the files yet. */
  private static <C extends SlotContext, T extends @Nullable Object> T inside(
      Epochs<C> epochs, Supplier<T> work) {
    EpochSlot<C> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      return work.get();
    } finally {
      epochs.exit(slot);
    }
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

  /** Which files have hardly any garbage in a version. To be asked inside the epochs. */
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
        // A read of a value in it reports the error.
        return false;
      }
    }
  }
}
