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
 * Transactions that begin while entries of a commit are in the memtables but not visible yet: a
 * large batch waits for a flush in between.
 */
final class TransactionDuringCommitTest {
  private static final byte[] OTHER = "other".getBytes(UTF_8);

  /** In the batch. */
  private int entries;

  private final List<Transaction> begun = new ArrayList<>();

  /** Whether they begin while the batch waits for a flush. */
  private boolean begins;

  /** Whether they begin once the first flush that the batch asks for is through. */
  private boolean beginsBehindFlush;

  private final KvStore store =
      new OpenStore(
          StorageEngine.open(
              Engines.config(
                  new CrashableStorage(),
                  new ForwardingScheduler(new ManualScheduler(1, 1)) {
                    @Override
                    public void execute(Lane lane, Runnable task) {
                      if (beginsBehindFlush && lane == Lane.FLUSH) {
                        beginsBehindFlush = false;
                        task.run();
                        begin();
                        return;
                      }
                      super.execute(lane, task);
                    }

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
    for (int i = 0; i < entries; i++) {
      Transaction transaction = store.begin();
      // As a range: single keys would be looked up, whatever came since.
      KvCursor cursor = transaction.cursor(ScanOptions.range(key(i), key(i + 1)));
      assertFalse(cursor.next(), "seen before it is published");
      begun.add(transaction);
    }
  }

  @Test
  void whatIsNotPublishedYetIsAConflictLater() {
    begins = true;
    checkConflicts(600);
  }

  /** Then it is in no memtable any more when it is published. */
  @Test
  void whatWasFlushedBeforeItWasPublishedIsAConflictLater() {
    beginsBehindFlush = true;
    // Two memtables; the second one stays.
    checkConflicts(100);
  }

  private void checkConflicts(int count) {
    entries = count;
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < entries; i++) {
      batch.put(key(i), new byte[40]);
    }
    store.write(batch);
    assertEquals(entries, begun.size(), "the batch did not wait");
    for (int i = 0; i < entries; i++) {
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
