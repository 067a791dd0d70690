package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.read.InternalCursor;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.txn.EngineTransaction;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Transactions beside writers whose memtable is in no order: only those that walked need one. */
final class ConflictCheckOrderTest {
  /** More than a check walks over when it has one key to look up, less than a memtable holds. */
  private static final int WRITTEN = 24;

  private final StorageEngine engine =
      Engines.open(new CrashableStorage(), new ManualScheduler(1, 1));

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void looksUpKeysWithoutOrder() {
    EngineTransaction transaction = begunWithARead();
    writeOthers();
    transaction.commit();
    assertTrue(active().isDeferring());
  }

  @Test
  void findsAChangeOfAKeyWithoutOrder() {
    EngineTransaction transaction = begunWithARead();
    put("read");
    writeOthers();
    assertThrows(ConflictException.class, transaction::commit);
    assertTrue(active().isDeferring());
  }

  @Test
  void findsAChangeOfARangeThatWasWalked() {
    put("read");
    EngineTransaction transaction = engine.begin();
    try (InternalCursor cursor =
        transaction.cursor(new ScanBounds(0, null, null, false, false, 1))) {
      assertTrue(cursor.next());
    }
    transaction.put(0, "own".getBytes(UTF_8), new byte[1], 0);
    put("a");
    writeOthers();
    assertThrows(ConflictException.class, transaction::commit);
  }

  private EngineTransaction begunWithARead() {
    put("read");
    EngineTransaction transaction = engine.begin();
    transaction.get(0, "read".getBytes(UTF_8));
    transaction.put(0, "own".getBytes(UTF_8), new byte[1], 0);
    return transaction;
  }

  private void writeOthers() {
    for (int i = 0; i < WRITTEN; i++) {
      put("other " + i);
    }
  }

  private void put(String key) {
    engine.writes().put(0, key.getBytes(UTF_8), new byte[1], 0);
  }

  private Memtable active() {
    return engine.reads().currentState().get().active();
  }
}
