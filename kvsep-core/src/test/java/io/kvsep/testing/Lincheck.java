package io.kvsep.testing;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.StressOptions;

/**
 * How much Lincheck does: a short run, the exhaustive one, or longer ones with {@code
 * -Dkvsep.lincheck.scenarios=N}. A scenario is a few drawn operations on a few threads; the same
 * ones every time.
 */
public final class Lincheck {
  private static final int SCENARIOS =
      Integer.getInteger("kvsep.lincheck.scenarios", Sample.EXHAUSTIVE ? 4 : 1);

  private static final int INTERLEAVINGS = Sample.EXHAUSTIVE ? 300 : 60;
  private static final int STRESSED = Sample.EXHAUSTIVE ? 1_000 : 200;

  private Lincheck() {}

  /**
   * Explores interleavings one by one, switching threads at accesses to shared memory. Off-heap
   * memory is none to Lincheck, so every access to a region counts as one step.
   */
  public static ModelCheckingOptions modelChecking() {
    return new ModelCheckingOptions()
        .iterations(SCENARIOS)
        .invocationsPerIteration(INTERLEAVINGS)
        .threads(2)
        .actorsPerThread(3)
        .actorsBefore(2)
        .actorsAfter(1)
        .addGuarantee(forClasses("io.kvsep.internal.memory.Region").allMethods().treatAsAtomic());
  }

  /** Real threads at full speed, which also meets what the processor reorders. */
  public static StressOptions stress() {
    return new StressOptions()
        .iterations(SCENARIOS)
        .invocationsPerIteration(STRESSED)
        .threads(2)
        .actorsPerThread(4)
        .actorsBefore(2)
        .actorsAfter(2);
  }
}
