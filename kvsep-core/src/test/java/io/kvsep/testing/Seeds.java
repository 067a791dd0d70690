package io.kvsep.testing;

import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;

/**
 * Seeds of randomised tests. Each run uses a range of seeds, or the one that {@code -Dkvsep.seed=N}
 * names; a failure says which seed it was and how to run it again.
 */
public final class Seeds {
  /** A test that draws everything from one generator. */
  public interface Run {
    void with(Random random) throws Exception;
  }

  /** Longer draws are not printed seed by seed; a failure names its own in any case. */
  private static final int PRINTED_MAX = 12;

  private Seeds() {}

  /**
   * Runs {@code test} with {@code count} seeds from {@code first} on, or with the one asked for.
   */
  public static void run(Class<?> owner, String method, long first, int count, LongConsumer test) {
    each(owner, owner.getSimpleName() + "#" + method, first, count, test);
  }

  /**
   * Runs {@code test} with {@code count} drawn seeds out of the first {@code all}, or with all of
   * them in the exhaustive run, see {@link Sample}. {@code -Dkvsep.seeds=N} asks for the first N.
   */
  public static void some(Class<?> owner, String method, int all, int count, LongConsumer test) {
    draw(owner, owner.getSimpleName() + "#" + method, all, count, test);
  }

  /** As above, with a generator for each seed. */
  public static void some(Class<?> owner, int all, int count, Run test) {
    draw(owner, owner.getSimpleName(), all, count, seed -> with(test, seed));
  }

  private static void draw(Class<?> owner, String selector, int all, int count, LongConsumer test) {
    Integer first = Sample.EXHAUSTIVE ? Integer.valueOf(all) : Integer.getInteger("kvsep.seeds");
    if (first != null || Long.getLong("kvsep.seed") != null) {
      each(owner, selector, 1, first == null ? 1 : first, test);
      return;
    }
    List<Long> drawn = drawn(all, count, ThreadLocalRandom.current().nextLong());
    String which = count <= PRINTED_MAX ? " " + drawn : "";
    System.out.println(selector + ": " + count + " of " + all + " seeds" + which);
    drawn.forEach(seed -> each(owner, selector, seed, 1, test));
  }

  /** Some of the first {@code all} seeds. */
  public static List<Long> drawn(int all, int count, long seed) {
    return Sample.of(LongStream.rangeClosed(1, all).boxed().toList()).drawn(count, seed);
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
                + "; repeat with: "
                + command(owner, selector)
                + " -Dkvsep.seed="
                + seed
                + causes(e),
            e);
      }
    }
  }

  /** Runs one test; properties of the run follow. */
  static String command(Class<?> owner, String selector) {
    return "mvn -pl " + module(owner) + " test -Dtest=" + selector;
  }

  /** Another module is built with the one that it needs, in which there is no such test. */
  private static String module(Class<?> owner) {
    String name = owner.getName();
    String module =
        name.startsWith("io.kvsep.server.")
            ? "kvsep-server"
            : name.startsWith("io.kvsep.cluster.")
                ? "kvsep-cluster"
                : name.startsWith("io.kvsep.collections.")
                    ? "kvsep-adapters/kvsep-collections"
                    : "";
    return module.isEmpty()
        ? "kvsep-core"
        : module + " -am -Dsurefire.failIfNoSpecifiedTests=false";
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
