package io.kvsep.internal.engine;

import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.reclaim.Pace;
import io.kvsep.internal.reclaim.ReclaimGoal;
import io.kvsep.internal.reclaim.ReclaimPicker;
import io.kvsep.internal.reclaim.ReclaimPlan;
import io.kvsep.internal.reclaim.WrittenOrder;
import io.kvsep.internal.version.Version;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides when values are put in the order of their keys, and which: when nobody writes, in a store
 * that is too large to be in memory as a whole, so that scans go to the device. See
 * docs/decisions/0021.
 *
 * <p>Nobody needs it, so nobody hears of it when it fails, and it is not tried again before
 * something was written. {@link #tick} is the timer's, {@link #isDue} anybody's; the rest is for
 * one job at a time.
 */
final class ValueOrdering {
  /** So many times as fast as reclaim usually goes. */
  private static final int SPEED = 4;

  /** A smaller store is in memory whatever there is of it, which costs some time to find out. */
  private static final long STORE_BYTES_MIN = 1 << 20;

  private final LogSpace space;
  private final ReclaimGoal goal;
  private final ReclaimPicker picker;
  private final WrittenOrder writtenOrder;
  private final LongSupplier orderFromBytes;

  /** The oldest segment that a reader of changes may still want. */
  private final LongSupplier followedFrom;

  /** Asked once; negative until then. */
  private volatile long orderFrom = -1;

  /** Whether nothing was written for a while. */
  private volatile boolean quiet;

  private volatile boolean failed;

  /** Where nothing was left to do, in front of which segment: looking again is no use then. */
  private record Ordered(Version version, long before) {}

  private volatile @Nullable Ordered ordered;

  ValueOrdering(
      EngineConfig config,
      Epochs<?> epochs,
      MemoryLedger ledger,
      LogSpace space,
      LongSupplier followedFrom) {
    this.space = space;
    this.goal = config.reclaim().goal();
    this.picker = new ReclaimPicker(goal);
    this.writtenOrder = new WrittenOrder(epochs, ledger);
    this.orderFromBytes = config.reclaim().orderFromBytes();
    this.followedFrom = followedFrom;
  }

  /**
   * Called at intervals.
   *
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
    return quiet && !failed && !isOrdered(version) && isLarge(version) && isLittleReplaced(version);
  }

  private boolean isOrdered(Version version) {
    Ordered known = ordered;
    return known != null && known.version == version && known.before == followedFrom.getAsLong();
  }

  /**
   * Finds out which segments are out of order, as far as it has to; without a lock, since it reads
   * tables.
   *
   * @param version retained by the caller
   */
  void look(Version version, ReclaimPicker.Damage damage, BooleanSupplier cancelled) {
    long before = followedFrom.getAsLong();
    Set<Long> candidates = picker.orderable(version, damage, before);
    boolean all = writtenOrder.learn(version, candidates, () -> cancelled.getAsBoolean() || !quiet);
    if (all && candidates.stream().noneMatch(writtenOrder::isScattered)) {
      ordered = new Ordered(version, before);
    }
  }

  /** The next job among what {@link #look} has found; null when there is none. */
  @Nullable ReclaimPlan choose(Version version, ReclaimPicker.Damage damage) {
    return isDue(version)
        ? picker.pickScattered(
            version,
            damage,
            followedFrom.getAsLong(),
            writtenOrder::isScattered,
            orderFromBytes() / 2)
        : null;
  }

  /** Faster for as long as it is in no writer's way. */
  Pace pace(Pace usual) {
    return bytes -> usual.moved(quiet ? bytes / SPEED : bytes);
  }

  /** Nothing was changed, and nothing is until something was written. */
  void failed() {
    failed = true;
  }

  private boolean isLarge(Version version) {
    long bytes = space.bytes() + version.tableBytes();
    return bytes >= STORE_BYTES_MIN && bytes > orderFromBytes();
  }

  /** Whether little is kept of what was replaced, as cursors may do. */
  private boolean isLittleReplaced(Version version) {
    return space.bytes() - space.bytesInForce() < goal.dueBytes(version.liveBytes());
  }

  private long orderFromBytes() {
    long known = orderFrom;
    if (known < 0) {
      known = orderFromBytes.getAsLong();
      orderFrom = known;
    }
    return known;
  }
}
