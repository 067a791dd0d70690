package io.kvsep;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.ConflictException;
import io.kvsep.internal.concurrent.Uninterruptibles;
import java.security.SecureRandom;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Runs work in transactions until one commits without a conflict or the limit of attempts is
 * reached. Waits between attempts for a random time below a bound that doubles, so that conflicting
 * threads spread out. Thread safe.
 */
final class TransactionRetry {
  /** Sixteen threads that contend for one key need about ten attempts each. */
  static final int TRIES_MAX = 64;

  /** About the duration of a commit. */
  private static final long PAUSE_NANOS_MIN = 16_000;

  private static final long PAUSE_NANOS_MAX = 8_192_000;

  @GuardedBy("itself")
  private final RandomGenerator random;

  private final LongConsumer pause;

  /**
   * @param random used under a lock
   * @param pause waits for the given number of nanoseconds
   */
  TransactionRetry(RandomGenerator random, LongConsumer pause) {
    this.random = random;
    this.pause = pause;
  }

  static TransactionRetry standard() {
    return new TransactionRetry(
        new SplittableRandom(new SecureRandom().nextLong()), Uninterruptibles::pause);
  }

  <R extends @Nullable Object> R run(
      Supplier<StoreTransaction> begin, Function<Transaction, R> work) {
    long bound = PAUSE_NANOS_MIN;
    for (int left = TRIES_MAX; ; left--) {
      try (StoreTransaction transaction = begin.get()) {
        try {
          R result = work.apply(transaction);
          if (!transaction.isOver()) {
            transaction.commit();
          }
          return result;
        } catch (ConflictException e) {
          // A conflict of another transaction used inside the work is not retried here.
          if (left == 1 || !transaction.isConflicted()) {
            throw e;
          }
        }
      }
      pause.accept(draw(bound));
      bound = Math.min(PAUSE_NANOS_MAX, 2 * bound);
    }
  }

  private long draw(long bound) {
    synchronized (random) {
      return random.nextLong(bound);
    }
  }
}
