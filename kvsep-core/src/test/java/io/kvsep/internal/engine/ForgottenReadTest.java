package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.read.InternalCursor;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.txn.EngineTransaction;
import io.kvsep.internal.txn.ReadSet;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What a transaction has read and has no memory to note. */
final class ForgottenReadTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final byte[] READ = {1};
  private static final byte[] OTHER = {2};

  private boolean scarce;

  /** Lets the read set of a transaction run out of memory when told to. */
  private void watch(EngineTransaction transaction) throws ReflectiveOperationException {
    Field readSet = EngineTransaction.class.getDeclaredField("readSet");
    readSet.setAccessible(true);
    Field ranges = ReadSet.class.getDeclaredField("ranges");
    ranges.setAccessible(true);
    ranges.set(
        readSet.get(transaction),
        new TreeMap<byte[], byte[]>(
            (one, other) -> {
              if (scarce) {
                throw new OutOfMemoryError("as a test wants it");
              }
              return Arrays.compareUnsigned(one, other);
            }));
  }

  @Test
  void aCursorIsReleasedAndTheCommitConflicts() throws Exception {
    try (StorageEngine engine = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1))) {
      engine.writes().put(0, READ, new byte[1], 0);
      EngineTransaction transaction = engine.begin();
      watch(transaction);
      transaction.contains(0, OTHER);
      InternalCursor cursor = transaction.cursor(ALL);
      assertTrue(cursor.next());
      scarce = true;
      assertThrows(OutOfMemoryError.class, cursor::close);
      scarce = false;
      assertEquals(0, engine.stats().openCursors());
      engine.writes().put(0, READ, new byte[2], 0);
      transaction.put(0, OTHER, new byte[1], 0);
      assertThrows(ConflictException.class, transaction::commit);
    }
  }

  @Test
  void withoutOtherWritesTheCommitSucceeds() throws Exception {
    try (StorageEngine engine = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1))) {
      EngineTransaction transaction = engine.begin();
      watch(transaction);
      transaction.contains(0, OTHER);
      scarce = true;
      assertThrows(OutOfMemoryError.class, () -> transaction.contains(0, READ));
      scarce = false;
      transaction.put(0, OTHER, new byte[1], 0);
      transaction.commit();
      engine.flush();
      EngineTransaction second = engine.begin();
      second.put(0, READ, new byte[1], 0);
      second.commit();
    }
  }
}
