package io.kvsep.testing;

import java.util.function.LongConsumer;

/**
 * Seeds of randomised tests. Each run uses seeds of its own unless {@code -Dkvsep.seed=N} names
 * one; a failure says which seed it was and how to run it again.
 */
public final class Seeds {
  private Seeds() {}

  /**
   * Runs {@code test} with {@code count} seeds from {@code first} on, or with the one asked for.
   */
  public static void run(Class<?> owner, String method, long first, int count, LongConsumer test) {
    String asked = System.getProperty("kvsep.seed");
    if (asked != null && !asked.isBlank()) {
      runOne(owner, method, Long.parseLong(asked), test);
      return;
    }
    for (int i = 0; i < count; i++) {
      runOne(owner, method, first + i, test);
    }
  }

  private static void runOne(Class<?> owner, String method, long seed, LongConsumer test) {
    try {
      test.accept(seed);
    } catch (Throwable e) {
      throw new AssertionError(
          "seed "
              + seed
              + "; repeat with: mvn -pl kvsep-core test -Dtest="
              + owner.getSimpleName()
              + "#"
              + method
              + " -Dkvsep.seed="
              + seed,
          e);
    }
  }
}
