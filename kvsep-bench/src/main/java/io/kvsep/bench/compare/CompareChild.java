package io.kvsep.bench.compare;

import io.kvsep.bench.Parent;
import io.kvsep.bench.UsageException;
import java.util.Arrays;

/**
 * The process that runs one JVM engine through all workloads; see docs/internals/bench-protocol.md.
 */
public final class CompareChild {
  /** When the process began, but for what the JVM does before the program. */
  private static final long START_NANOS = System.nanoTime();

  private static final int FAILED = 1;
  private static final int USAGE = 2;

  private CompareChild() {}

  public static void main(String[] words) {
    Parent.haltWithIt(FAILED);
    ChildOutput output = new ChildOutput(System.out);
    int code = 0;
    try {
      ChildOptions options = ChildOptions.parse(Arrays.asList(words));
      code = run(options, output) ? 0 : FAILED;
    } catch (UsageException e) {
      System.err.println(e.getMessage());
      code = USAGE;
    }
    // Threads left by an engine must not keep the process alive.
    Runtime.getRuntime().halt(code);
  }

  /** Returns false after a failure, which was reported to the output. */
  static boolean run(ChildOptions options, ChildOutput output) {
    try (Sequence sequence = new Sequence(options, output, START_NANOS)) {
      try {
        sequence.run();
        return true;
      } catch (Throwable e) {
        // Also errors: running out of memory is a result, too.
        e.printStackTrace();
        System.err.flush();
        output.failed(sequence.workload(), e.toString());
        return false;
      }
    }
  }
}
