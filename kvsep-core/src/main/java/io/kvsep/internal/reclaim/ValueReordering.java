package io.kvsep.internal.reclaim;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.RecordOrder;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides which segments to rewrite in key order, on request and while a store larger than memory
 * is idle, so that scans read the device sequentially. See docs/decisions/11.
 *
 * <p>A failure while idle is not reported, and not retried until something was written. {@link
 * #tick} is called by the timer, {@link #isDue} by any thread, the rest by one job at a time.
 */
public final class ValueReordering {
  /** Entries visited between two checks for cancellation. */
  private static final int STEP_ENTRIES = 1 << 12;

  private final MemoryLedger ledger;
  private final LogSpace space;
  private final ReclaimGoal goal;
  private final ReclaimPicker picker;
  private final LongSupplier orderFromBytes;

  /** The oldest segment that a change feed may still need. */
  private final LongSupplier followedFrom;

  /** Whether the records of an examined segment are out of order. */
  private final Map<Long, Boolean> scattered = new HashMap<>();

  private volatile boolean quiet;

  private volatile boolean failed;

  private record Ordered(Version version, long before) {}

  private volatile @Nullable Ordered ordered;

  public ValueReordering(
      EngineConfig config, MemoryLedger ledger, LogSpace space, LongSupplier followedFrom) {
    this.ledger = ledger;
    this.space = space;
    this.goal = config.reclaim().goal();
    this.picker = new ReclaimPicker(goal);
    this.orderFromBytes = config.reclaim().orderFromBytes();
    this.followedFrom = followedFrom;
  }

  /**
   * @param nowQuiet whether nothing was written for a while
   */
  void tick(boolean nowQuiet) {
    quiet = nowQuiet;
    if (!nowQuiet) {
      failed = false;
    }
  }

  boolean isQuiet() {
    return quiet;
  }

  boolean isDue(Version version) {
    Ordered known = ordered;
    return quiet
        && !failed
        && (known == null || known.version != version || known.before != followedFrom.getAsLong())
        && isLarge(version)
        && isLittleReplaced(version);
  }

  /**
   * Examines segments not examined before. Reads tables, so it runs outside the lock of {@link
   * RefreshTargets}.
   *
   * @param version retained by the caller
   */
  void look(Version version, ReclaimPicker.Damage damage, BooleanSupplier cancelled) {
    scattered.keySet().retainAll(version.segments().keySet());
    long before = followedFrom.getAsLong();
    Set<Long> unknown = new HashSet<>(picker.orderable(version, damage, before));
    unknown.removeAll(scattered.keySet());
    if (!unknown.isEmpty()) {
      RecordOrder order = new RecordOrder();
      // Needs no epochs: the iterators pin their tables, and no pointer is followed.
      try (MergingIterator entries = ReclaimJob.tablesOf(version, unknown, ledger)) {
        entries.seekToFirst();
        while (entries.isValid() && !cancelled.getAsBoolean()) {
          order.addAll(entries, STEP_ENTRIES);
        }
        if (entries.isValid()) {
          return;
        }
      }
      for (long segment : unknown) {
        RecordOrder.Count count = order.counts().getOrDefault(segment, new RecordOrder.Count());
        scattered.put(segment, RecordOrder.isScattered(count.records(), count.inOrder()));
      }
    }
    if (picker.pickScattered(version, damage, before, this::isScattered, Long.MAX_VALUE) == null) {
      ordered = new Ordered(version, before);
    }
  }

  /**
   * The next job among the segments found by {@link #look}, up to {@code last}; null if there is
   * none.
   */
  @Nullable ReclaimPlan choose(Version version, ReclaimPicker.Damage damage, long last) {
    long before = Math.min(followedFrom.getAsLong(), last == Long.MAX_VALUE ? last : last + 1);
    return picker.pickScattered(
        version, damage, before, this::isScattered, orderFromBytes.getAsLong() / 2);
  }

  void failed() {
    failed = true;
  }

  boolean isScattered(long segment) {
    return scattered.getOrDefault(segment, false);
  }

  private boolean isLarge(Version version) {
    return space.bytes() + version.tableBytes() > orderFromBytes.getAsLong();
  }

  /** Whether cursors and the like retain few replaced files. */
  private boolean isLittleReplaced(Version version) {
    return space.bytes() - space.bytesInForce(version) < goal.dueBytes(version.liveBytes());
  }
}
