package io.kvsep.internal.txn;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.OtherThread;
import org.junit.jupiter.api.Test;

/** A claim of a transaction inside another one ends with itself. */
final class TransactionClaimTest {
  @Test
  void aTransactionIsLeftAsItWasFound() throws Exception {
    try (StorageEngine engine = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1))) {
      EngineTransaction transaction = engine.begin();
      byte[] key = {1};
      long none = transaction.holds();
      transaction.claim();
      long outer = transaction.holds();
      transaction.claim();
      transaction.end(outer);
      transaction.end(outer);
      assertThrows(
          IllegalStateException.class, () -> OtherThread.call(() -> transaction.contains(0, key)));
      transaction.end(none);
      assertFalse(OtherThread.call(() -> transaction.contains(0, key)));
      transaction.close();
    }
  }
}
