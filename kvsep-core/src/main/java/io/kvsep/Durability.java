package io.kvsep;

import java.time.Duration;
import java.util.Objects;

/**
 * What an acknowledged write survives. After a crash, if a write is present, all writes before it
 * are. Instances are equal if kind and interval are equal.
 */
public abstract sealed class Durability {
  private Durability() {}

  /**
   * A write is acknowledged once it is on stable storage. Concurrent writers share one sync (group
   * commit).
   *
   * @return the durability of a write that waits for its sync
   */
  public static Durability sync() {
    return Sync.INSTANCE;
  }

  /**
   * An acknowledged write survives the end of the process. A power failure loses at most the last
   * {@code syncInterval}, which must be positive; less than a millisecond counts as one.
   *
   * @param syncInterval time between syncs
   * @return the durability of a write that is synced later
   */
  public static Durability async(Duration syncInterval) {
    Objects.requireNonNull(syncInterval, "syncInterval");
    if (syncInterval.isNegative() || syncInterval.isZero()) {
      throw new IllegalArgumentException("syncInterval must be positive: " + syncInterval);
    }
    return new Async(syncInterval);
  }

  /**
   * No write waits for a sync of its own. A power failure loses at most what came after the last
   * {@code sync()}, {@code flush()} or {@code close()}; the log may be synced at any other time,
   * too. Acknowledged writes still survive the end of the process. For bulk loads and state that
   * can be rebuilt.
   *
   * @return the durability of a write that is not synced
   */
  public static Durability none() {
    return None.INSTANCE;
  }

  static final class Sync extends Durability {
    static final Durability INSTANCE = new Sync();

    @Override
    public String toString() {
      return "sync";
    }
  }

  static final class Async extends Durability {
    private final Duration interval;

    Async(Duration interval) {
      this.interval = interval;
    }

    Duration interval() {
      return interval;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Async that && interval.equals(that.interval);
    }

    @Override
    public int hashCode() {
      return interval.hashCode();
    }

    @Override
    public String toString() {
      return "async(" + interval + ")";
    }
  }

  static final class None extends Durability {
    static final Durability INSTANCE = new None();

    @Override
    public String toString() {
      return "none";
    }
  }
}
