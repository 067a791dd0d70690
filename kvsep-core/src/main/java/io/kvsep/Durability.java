package io.kvsep;

import java.time.Duration;
import java.util.Objects;

/**
 * What an acknowledged write has survived. After any crash no later write survives an earlier one.
 * Two are equal when they are of one kind and have the same interval.
 */
public abstract sealed class Durability {
  private Durability() {}

  /** Acknowledged means on stable storage; concurrent writers share one sync (group commit). */
  public static Durability sync() {
    return Sync.INSTANCE;
  }

  /**
   * Acknowledged means that it survives the process; a power failure loses at most the last {@code
   * syncInterval}, which must be positive. Less than a millisecond counts as one.
   */
  public static Durability async(Duration syncInterval) {
    Objects.requireNonNull(syncInterval, "syncInterval");
    if (syncInterval.isNegative() || syncInterval.isZero()) {
      throw new IllegalArgumentException("syncInterval must be positive: " + syncInterval);
    }
    return new Async(syncInterval);
  }

  /**
   * No sync of the log until {@code sync()}, {@code flush()} or {@code close()}, or until a
   * memtable is full: bulk loads and state that can be rebuilt. Survives the process all the same.
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
