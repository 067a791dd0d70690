package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Seeds;
import org.junit.jupiter.api.Test;

/** Long random histories of transactions against sorted maps; see {@link TransactionModelRun}. */
final class TransactionModelTest {
  @Test
  void everyHistoryMatchesTheModel() {
    Seeds.run(
        TransactionModelTest.class,
        "everyHistoryMatchesTheModel",
        1,
        Integer.getInteger("kvsep.seeds", 20),
        seed -> {
          TransactionModelRun run = new TransactionModelRun(seed);
          run.run(2_000);
          assertTrue(run.committed > 0 && run.conflicts > 0, "nothing of interest happened");
        });
  }
}
