package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Seeds;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Long random histories of transactions against sorted maps; see {@link TransactionModelRun}. */
final class TransactionModelTest {
  @Test
  void everyHistoryMatchesTheModel() {
    int[] counts = new int[2];
    Seeds.some(
        TransactionModelTest.class,
        "everyHistoryMatchesTheModel",
        /* all= */ 100,
        /* count= */ 4,
        seed -> {
          TransactionModelRun run = new TransactionModelRun(seed);
          run.run(2_000);
          counts[0] += run.committed;
          counts[1] += run.conflicts;
        });
    // Some seeds draw a history without a conflict.
    boolean interesting = counts[0] > 0 && counts[1] > 0;
    assertTrue(interesting || Long.getLong("kvsep.seed") != null, () -> Arrays.toString(counts));
  }
}
