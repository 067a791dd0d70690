package io.kvsep.cluster;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The clock of a replica. What changes the store must see the same time on every replica, also when
 * the log is applied again after a crash: an entry that compaction drops because it has expired by
 * the wall clock would still be there on a replica that applies the same commands elsewhere. So the
 * group has a time of its own, that of the newest applied entry, which never goes back. Entries are
 * applied at it, and users read by the wall clock. All else, such as compaction, sees the time of
 * the newest entry that a power failure cannot take back: tables are synced before the log, so what
 * they drop must not be needed by an entry that is applied again. Thread safe.
 */
final class GroupClock extends Clock {
  /** Stands for the wall clock, by which readers see entries expire. */
  static final long WALL = Long.MIN_VALUE;

  /** What the current thread sees instead of the group's time. */
  private static final ThreadLocal<@Nullable Long> SEEN = new ThreadLocal<>();

  private final Clock wall;
  private volatile long groupMillis;
  private volatile long durableMillis;

  GroupClock(Clock wall) {
    this.wall = wall;
  }

  /** Moves the group's time on; an earlier time has no effect. For one thread at a time. */
  void advance(long millis) {
    groupMillis = Math.max(groupMillis, millis);
  }

  /** Sets the group's time to that of a store that was opened and synced. */
  void reset(long millis) {
    groupMillis = millis;
    durableMillis = millis;
  }

  /** The writes of all entries up to this time are synced. For one thread at a time. */
  void synced(long millis) {
    durableMillis = Math.max(durableMillis, millis);
  }

  long groupMillis() {
    return groupMillis;
  }

  /** The time that readers see: never behind that of the group. */
  long wallMillis() {
    return Math.max(wall.millis(), groupMillis);
  }

  /** Runs {@code work} at a time that stands still, or at {@link #WALL}. */
  static <R extends @Nullable Object> R at(long millis, Supplier<R> work) {
    Long outer = SEEN.get();
    SEEN.set(millis);
    try {
      return work.get();
    } finally {
      if (outer == null) {
        SEEN.remove();
      } else {
        SEEN.set(outer);
      }
    }
  }

  @Override
  public long millis() {
    Long seen = SEEN.get();
    if (seen == null) {
      return durableMillis;
    }
    return seen == WALL ? wallMillis() : seen;
  }

  @Override
  public Instant instant() {
    return Instant.ofEpochMilli(millis());
  }

  @Override
  public ZoneId getZone() {
    return wall.getZone();
  }

  @Override
  public Clock withZone(ZoneId zone) {
    throw new UnsupportedOperationException("the clock of a replica has no zones");
  }
}
