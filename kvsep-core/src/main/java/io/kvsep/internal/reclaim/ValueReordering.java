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
 * Decides when values are put in the order of their keys, and which: when nobody writes. In a store
 * that is too large to be in memory as a whole all of them, so that scans read the device from end
 * to end (docs/decisions/11). In one that is not, but is too large for a processor's caches, those
 * that are likely to stay: the newest part is left as it is, and so is a store whose values are
 * being replaced, as reclaim puts in order what it leaves of them (docs/decisions/11).
 *
 * <p>Nobody needs it, so nobody hears of it when it fails, and it is not tried again before
 * something was written. {@link #tick} is the timer's, {@link #isDue} anybody's; the rest is for
 * one job at a time.
 */
final class ValueReordering {
  /** So many times as fast as reclaim usually goes. */
  private static final int SPEED = 4;

  /** In memory: bytes read and written for which the job rests once, beside readers. */
  private static final long REST_BYTES = 512 << 10;

  /** In memory: rests in a row, however much one step was. */
  private static final long RESTS_MAX = 4;

  /** A smaller store is in memory whatever there is of it, which costs some time to find out. */
  private static final long STORE_BYTES_MIN = 1 << 20;

  /**
   * In memory: the newest part of all values, which is left as it is. With it a store that is
   * filled with values of 1 KiB and left alone writes less than twice what it was given.
   */
  private static final int NEWEST_PARTS = 6;

  /**
   * In memory: nothing is moved before such a part is out of order, so that each file holds many
   * values of any range of keys.
   */
  private static final int SCATTERED_PARTS = 8;

  /** In memory: where replaced values take more than such a part, others are being replaced. */
  private static final int REPLACED_PARTS = 10;

  private final Epochs<?> epochs;
  private final LogSpace space;
  private final ReclaimGoal goal;
  private final ReclaimPicker picker;
  private final WriteOrderMerge writtenOrder;
  private final LongSupplier orderFromBytes;
  private final long orderWarmFromBytes;

  /** The oldest segment that a reader of changes may still want. */
  private final LongSupplier followedFrom;

  /** Asked once; negative until then. */
  private volatile long orderFrom = -1;

  /** Whether nothing was written for a while. */
  private volatile boolean quiet;

  private volatile boolean failed;

  /** In memory: whether enough was out of order, so that all of it is moved. */
  private volatile boolean begun;

  /** Where nothing was left to do, in front of which segment: looking again is no use then. */
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

  /** The oldest segment that stays as it is, with all after it. */
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
   * Finds out which segments are out of order, as far as it has to; without a lock, since it reads
   * tables.
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

  /** The next job among what {@link #look} has found; null when there is none. */
  @Nullable ReclaimPlan choose(Version version, ReclaimPicker.Damage damage) {
    return begun && isDue(version)
        ? picker.pickScattered(
            version, damage, before(version), writtenOrder::isScattered, orderFromBytes() / 2)
        : null;
  }

  /**
   * Faster for as long as it is in no writer's way. In memory nothing but the processor limits it,
   * most of which it leaves to readers as long as some are at work.
   *
   * @param rest waits for a moment, which is no work and so does not count as such
   * @param awaited whether somebody waits for the job's end, so that it is not to rest
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

  /** Nothing was changed, and nothing is until something was written. */
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

  /** Whether little is kept of what was replaced, as cursors may do. */
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
