package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingScheduler;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Transactions that begin while entries of a commit are in the memtables and nobody sees them yet:
 * a large batch waits for a flush in between.
 */
final class TransactionDuringCommitTest {
  private static final byte[] OTHER = "other".getBytes(UTF_8);
  private static final int ENTRIES = 600;

  private final List<Transaction> begun = new ArrayList<>();
  private boolean begins;

  private final KvStore store =
      new OpenStore(
          StorageEngine.open(
              Engines.config(
                  new CrashableStorage(),
                  new ForwardingScheduler(new ManualScheduler(1, 1)) {
                    @Override
                    public boolean help() {
                      if (begins) {
                        begins = false;
                        begin();
                      }
                      return super.help();
                    }
                  })));

  private void begin() {
    for (int i = 0; i < ENTRIES; i++) {
      Transaction transaction = store.begin();
      // As a range: single keys would be looked up, whatever came since.
      KvCursor cursor = transaction.cursor(ScanOptions.range(key(i), key(i + 1)));
      assertFalse(cursor.next(), "seen before it is published");
      begun.add(transaction);
    }
  }

  @Test
  void whatIsNotPublishedYetIsAConflictLater() {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < ENTRIES; i++) {
      batch.put(key(i), new byte[40]);
    }
    begins = true;
    store.write(batch);
    assertEquals(ENTRIES, begun.size(), "the batch did not wait");
    for (int i = 0; i < ENTRIES; i++) {
      try (Transaction transaction = begun.get(i)) {
        transaction.put(OTHER, key(i));
        assertThrows(ConflictException.class, transaction::commit, "entry " + i);
      }
    }
    assertFalse(store.contains(OTHER));
    store.close();
  }

  private static byte[] key(int number) {
    return ("key " + (1_000 + number)).getBytes(UTF_8);
  }
}
