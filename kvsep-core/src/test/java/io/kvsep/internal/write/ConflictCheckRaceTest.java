package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.txn.EngineTransaction;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A write that commits while a transaction looks at what has changed. */
final class ConflictCheckRaceTest {
  /** Runs once, before the next table is opened. */
  private Runnable whileLooking = () -> {};

  private final StorageEngine engine =
      Engines.open(
          new ForwardingStorage(new CrashableStorage()) {
            @Override
            public StorageFile open(String name, boolean writable) throws IOException {
              if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE) {
                Runnable once = whileLooking;
                whileLooking = () -> {};
                once.run();
              }
              return super.open(name, writable);
            }
          },
          new ManualScheduler(1, 1));

  private int written;

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void aChangeThatComesDuringTheFirstLookIsAConflict() {
    put("read");
    EngineTransaction transaction = engine.begin();
    transaction.get(0, "read".getBytes(UTF_8));
    transaction.put(0, "own".getBytes(UTF_8), new byte[1], 0);
    // The memtable with the transaction's mark goes to a table around the key.
    put("a");
    put("z");
    engine.flush();
    int before = written;
    // The memtable was looked at by now.
    whileLooking = () -> put("read");
    assertThrows(ConflictException.class, transaction::commit);
    assertEquals(before + 1, written, "written while the transaction looked");
  }

  private void put(String key) {
    engine.writes().put(0, key.getBytes(UTF_8), new byte[1], 0);
    written++;
  }
}
