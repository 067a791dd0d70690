package io.kvsep.internal.engine;

import io.kvsep.testing.Seeds;
import org.junit.jupiter.api.Test;

/** Long random histories of all operations against a sorted map; see {@link ModelRun}. */
final class StoreModelTest {
  @Test
  void everyHistoryMatchesTheModel() {
    Seeds.some(
        StoreModelTest.class,
        "everyHistoryMatchesTheModel",
        /* all= */ 100,
        /* count= */ 4,
        seed -> new ModelRun(seed).run(2_000));
  }
}
