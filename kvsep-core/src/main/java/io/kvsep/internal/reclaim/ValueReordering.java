package io.kvsep.internal.reclaim;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides when and which values are rewritten in key order while the store is idle. In a store
 * larger than memory all values are reordered, so that scans read the device sequentially. In a
 * store that fits into memory but not into processor caches, only values likely to stay are: the
 * newest part is left alone, and so is a store whose values are being replaced, because reclaim
 * orders the rest of them anyway. See docs/decisions/11.
 *
 * <p>Reordering is optional, so failures are not reported; after one it is not retried until
 * something was written. {@link #tick} is called by the timer, {@link #isDue} by any thread, the
 * rest by one job at a time.
 */
final class ValueReordering {
  /** Speed relative to normal reclaim. */
  private static final int SPEED = 4;

  /** In memory: bytes moved between two rests while readers are active. */
  private static final long REST_BYTES = 512 << 10;

  /** In memory: maximum number of consecutive rests after one step. */
  private static final long RESTS_MAX = 4;

  /** A smaller store is always in memory; avoids the cost of checking. */
  private static final long STORE_BYTES_MIN = 1 << 20;

  /**
   * In memory: one part of this many, the newest, is left alone. A store that is filled with values
   * of 1 KiB and then idle thus writes less than twice its input.
   */
  private static final int NEWEST_PARTS = 6;

  /**
   * In memory: at least one part of this many must be out of order, so that each output file holds
   * many values of any key range.
   */
  private static final int SCATTERED_PARTS = 8;

  /**
   * In memory: replaced values of more than one part of this many mean that values are being
   * replaced.
   */
  private static final int REPLACED_PARTS = 10;

  private final Epochs<?> epochs;
  private final LogSpace space;
  private final ReclaimGoal goal;
  private final ReclaimPicker picker;
  private final WriteOrderMerge writtenOrder;
  private final LongSupplier orderFromBytes;
  private final long orderWarmFromBytes;

  /** The oldest segment that a change feed may still need. */
  private final LongSupplier followedFrom;

  /** Computed once; negative until then. */
  private volatile long orderFrom = -1;

  /** Whether nothing was written for a while. */
  private volatile boolean quiet;

  private volatile boolean failed;

  /** In memory: whether enough was out of order, so that all of it is moved. */
  private volatile boolean begun;

  private record Ordered(Version version, long before) {}

  private volatile @Nullable Ordered ordered;

  ValueReordering(
      EngineConfig config,
      Epochs<?> epochs,
      MemoryLedger ledger,
      LogSpace space,
      LongSupplier followedFrom) {
    this.epochs = epochs;
    this.space = space;
    this.goal = config.reclaim().goal();
    this.picker = new ReclaimPicker(goal);
    this.writtenOrder = new WriteOrderMerge(ledger);
    this.orderFromBytes = config.reclaim().orderFromBytes();
    this.orderWarmFromBytes = config.reclaim().orderWarmFromBytes();
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
    return quiet
        && !failed
        && !isOrdered(version)
        && (isLarge(version) || bytes(version) >= orderWarmFromBytes)
        && isLittleReplaced(version);
  }

  private boolean isOrdered(Version version) {
    Ordered known = ordered;
    return known != null && known.version == version && known.before == before(version);
  }

  /** The oldest segment left alone, together with all later ones. */
  private long before(Version version) {
    long followed = followedFrom.getAsLong();
    return isLarge(version) ? followed : Math.min(followed, newestFrom(version));
  }

  private static long newestFrom(Version version) {
    long newest = version.liveBytes() / NEWEST_PARTS;
    long from = Long.MAX_VALUE;
    SortedMap<Long, SegmentState> older = version.segments();
    for (long bytes = 0; bytes < newest && !older.isEmpty(); older = older.headMap(from)) {
      from = older.lastKey();
      bytes += Objects.requireNonNull(older.get(from)).isLog() ? version.liveBytes(from) : 0;
    }
    return from;
  }

  /**
   * Determines which segments are out of order, as far as needed. Runs without a lock, because it
   * reads tables.
   *
   * @param version retained by the caller
   */
  void look(Version version, ReclaimPicker.Damage damage, BooleanSupplier cancelled) {
    long before = before(version);
    if (!isLarge(version) && isBeingOverwritten(version)) {
      begun = false;
      ordered = new Ordered(version, before);
      return;
    }
    Set<Long> candidates = picker.orderable(version, damage, before);
    boolean all = writtenOrder.learn(version, candidates, () -> cancelled.getAsBoolean() || !quiet);
    long scatteredBytes = 0;
    for (long segment : candidates) {
      scatteredBytes += writtenOrder.isScattered(segment) ? version.liveBytes(segment) : 0;
    }
    if (scatteredBytes > (begun || isLarge(version) ? 0 : version.liveBytes() / SCATTERED_PARTS)) {
      begun = true;
    } else if (all) {
      begun = false;
      ordered = new Ordered(version, before);
    }
  }

  /** The next job from what {@link #look} has found; null if there is none. */
  @Nullable ReclaimPlan choose(Version version, ReclaimPicker.Damage damage) {
    return begun && isDue(version)
        ? picker.pickScattered(
            version, damage, before(version), writtenOrder::isScattered, orderFromBytes() / 2)
        : null;
  }

  /**
   * Faster than normal reclaim while there are no writes. In memory the job leaves most of the
   * processor to active readers.
   *
   * @param rest pauses briefly; not counted as work
   * @param awaited whether another thread waits for the job to end, so that it must not rest
   */
  Pace pace(Pace usual, Runnable rest, Version version, BooleanSupplier awaited) {
    boolean sparesReaders = !isLarge(version);
    return bytes -> {
      usual.moved(quiet ? bytes / SPEED : bytes);
      long rests = sparesReaders ? Math.min(RESTS_MAX, bytes / REST_BYTES) : 0;
      for (; rests > 0 && makesWay(awaited); rests--) {
        rest.run();
      }
    };
  }

  private boolean makesWay(BooleanSupplier awaited) {
    return quiet && !awaited.getAsBoolean() && epochs.isAnybodyInside();
  }

  /** Records a failure. Nothing was changed; no retry until something is written. */
  void failed() {
    failed = true;
  }

  private boolean isLarge(Version version) {
    long bytes = bytes(version);
    return bytes >= STORE_BYTES_MIN && bytes > orderFromBytes();
  }

  private long bytes(Version version) {
    return space.bytes() + version.tableBytes();
  }

  private boolean isBeingOverwritten(Version version) {
    return picker.replacedBytes(version) > version.liveBytes() / REPLACED_PARTS;
  }

  /** Whether little replaced data is retained, for example by cursors. */
  private boolean isLittleReplaced(Version version) {
    return space.bytes() - space.bytesInForce(version) < goal.dueBytes(version.liveBytes());
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
