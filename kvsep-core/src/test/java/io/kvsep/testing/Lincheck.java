package io.kvsep.testing;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.StressOptions;

/**
 * How much Lincheck does: short runs in a build, longer ones with {@code
 * -Dkvsep.lincheck.scenarios=N}. A scenario is a few drawn operations on a few threads; the same
 * ones every time.
 */
public final class Lincheck {
  private static final int SCENARIOS = Integer.getInteger("kvsep.lincheck.scenarios", 4);

  private Lincheck() {}

  /**
   * Explores interleavings one by one, switching threads at accesses to shared memory. Off-heap
   * memory is none to Lincheck, so every access to a region counts as one step.
   */
  public static ModelCheckingOptions modelChecking() {
    return new ModelCheckingOptions()
        .iterations(SCENARIOS)
        .invocationsPerIteration(300)
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
        .invocationsPerIteration(1_000)
        .threads(2)
        .actorsPerThread(4)
        .actorsBefore(2)
        .actorsAfter(2);
  }
}
