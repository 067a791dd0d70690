package io.kvsep.internal.engine;

import io.kvsep.testing.CrashableStorage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Collects what failed among very many runs of one test, so that its report tells one broken rule
 * from many. Not thread safe.
 */
public final class Failures {
  private static final int REPORTED_MAX = 5;
  private static final int TRACE_LINES = 12;

  private final List<AssertionError> first = new ArrayList<>();
  private final Set<String> kinds = new HashSet<>();
  private int runCount;
  private int failureCount;

  /** Runs one case; {@code what} names it, the storage's last operations are told with it. */
  public void check(String what, CrashableStorage storage, Runnable run) {
    runCount++;
    try {
      run.run();
    } catch (Throwable e) {
      failureCount++;
      if (first.size() < REPORTED_MAX && kinds.add(kind(e))) {
        List<String> trace = storage.trace();
        List<String> last = trace.subList(Math.max(0, trace.size() - TRACE_LINES), trace.size());
        first.add(new AssertionError(what + ": " + e + "; last operations " + last, e));
      }
    }
  }

  /** Failures that differ in numbers only are one kind. */
  private static String kind(Throwable e) {
    return String.valueOf(e).replaceAll("[0-9-]+", "#");
  }

  public int runCount() {
    return runCount;
  }

  public int failureCount() {
    return failureCount;
  }

  public void report() {
    if (failureCount > 0) {
      AssertionError all =
          new AssertionError(
              failureCount + " of " + runCount + " runs failed; one of each kind: " + first);
      first.forEach(all::addSuppressed);
      throw all;
    }
  }
}
