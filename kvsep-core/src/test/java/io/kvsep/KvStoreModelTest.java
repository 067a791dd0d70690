package io.kvsep;

import io.kvsep.testing.Seeds;
import org.junit.jupiter.api.Test;

/** Long random histories of the public calls against sorted maps; see {@link KvStoreModelRun}. */
final class KvStoreModelTest {
  @Test
  void everyHistoryMatchesTheModel() {
    Seeds.some(
        KvStoreModelTest.class,
        "everyHistoryMatchesTheModel",
        /* all= */ 100,
        /* count= */ 3,
        seed -> new KvStoreModelRun(seed).run(1_500));
  }
}
