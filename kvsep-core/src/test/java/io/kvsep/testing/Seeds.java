package io.kvsep.testing;

import java.util.Random;
import java.util.function.LongConsumer;

/**
 * Seeds of randomised tests. Each run uses a range of seeds, or the one that {@code -Dkvsep.seed=N}
 * names; a failure says which seed it was and how to run it again.
 */
public final class Seeds {
  /** A test that draws everything from one generator. */
  public interface Run {
    void with(Random random) throws Exception;
  }

  private Seeds() {}

  /**
   * Runs {@code test} with {@code count} seeds from {@code first} on, or with the one asked for.
   */
  public static void run(Class<?> owner, String method, long first, int count, LongConsumer test) {
    each(owner, owner.getSimpleName() + "#" + method, first, count, test);
  }

  /** As above from seed 1 on, with a generator for each seed. */
  public static void each(Class<?> owner, int count, Run test) {
    each(owner, owner.getSimpleName(), 1, count, seed -> with(test, seed));
  }

  private static void each(
      Class<?> owner, String selector, long first, int count, LongConsumer test) {
    Long asked = Long.getLong("kvsep.seed");
    long from = asked == null ? first : asked;
    long last = asked == null ? first + count - 1 : asked;
    for (long seed = from; seed <= last; seed++) {
      try {
        test.accept(seed);
      } catch (Throwable e) {
        throw new AssertionError(
            "seed "
                + seed
                + "; repeat with: mvn -pl "
                + module(owner)
                + " test -Dtest="
                + selector
                + " -Dkvsep.seed="
                + seed
                + causes(e),
            e);
      }
    }
  }

  /** Another module is built with the one that it needs, in which there is no such test. */
  private static String module(Class<?> owner) {
    return owner.getName().startsWith("io.kvsep.server.")
        ? "kvsep-server -am -Dsurefire.failIfNoSpecifiedTests=false"
        : "kvsep-core";
  }

  /** All causes in the message: of the failure of a whole build often nothing else is at hand. */
  private static String causes(Throwable failure) {
    StringBuilder text = new StringBuilder();
    for (Throwable e = failure; e != null; e = e.getCause()) {
      text.append("; ").append(e);
      StackTraceElement[] trace = e.getStackTrace();
      if (trace.length > 0) {
        text.append(" at ").append(trace[0]);
      }
    }
    return text.toString();
  }

  private static void with(Run test, long seed) {
    try {
      test.with(new Random(seed));
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
