package io.kvsep.internal.version;

import java.util.Random;

/** Seeds of a test's runs: all of a range, or the one that is asked for. */
final class Seeds {
  interface Run {
    void with(Random random) throws Exception;
  }

  private Seeds() {}

  static void each(Class<?> test, int count, Run run) {
    Long only = Long.getLong("kvsep.seed");
    long first = only == null ? 1 : only;
    long last = only == null ? count : only;
    for (long seed = first; seed <= last; seed++) {
      try {
        run.with(new Random(seed));
      } catch (Exception | AssertionError e) {
        throw new AssertionError(
            "seed "
                + seed
                + ": mvn -pl kvsep-core test -Dtest="
                + test.getSimpleName()
                + " -Dkvsep.seed="
                + seed,
            e);
      }
    }
  }
}
