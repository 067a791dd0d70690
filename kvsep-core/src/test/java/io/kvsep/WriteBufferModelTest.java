package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Seeds;
import org.junit.jupiter.api.Test;

/** Long random histories of write buffers against sorted maps; see {@link WriteBufferModelRun}. */
final class WriteBufferModelTest {
  @Test
  void everyHistoryMatchesTheModel() {
    Seeds.some(
        WriteBufferModelTest.class,
        "everyHistoryMatchesTheModel",
        /* all= */ 100,
        /* count= */ 3,
        seed -> {
          WriteBufferModelRun run = new WriteBufferModelRun(seed);
          run.run(1_500);
          assertTrue(run.committed > 0);
        });
  }
}
