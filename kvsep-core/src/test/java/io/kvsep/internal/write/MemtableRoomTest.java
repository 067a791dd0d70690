package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A memtable takes as many entries from batches as one by one, or nearly. */
final class MemtableRoomTest {
  private static final int ENTRIES = 2_000;

  @Test
  void batchesOfShortRecordsFillMemtables() {
    long oneByOne = flushes(1);
    assertTrue(oneByOne > 5, oneByOne + " flushes");
    // A memtable takes some 130 of them; up to a batch may be missing in each.
    for (int batch : new int[] {5, 20, 40}) {
      long flushes = flushes(batch);
      assertTrue(flushes <= 1.6 * oneByOne, flushes + " with " + batch + ", else " + oneByOne);
    }
  }

  /** Memtables here cover 32 KiB of the log, and 64 where two wait already. */
  @Test
  void writersGoOnWithTheActiveMemtableWhileFlushesAreLate() {
    ManualScheduler scheduler = new ManualScheduler(1, 1);
    StorageEngine engine = Engines.open(new CrashableStorage(), scheduler);
    byte[] value = new byte[1_000];
    new Random(7).nextBytes(value);
    int written = 0;
    while (engine.stats().stalls() == 0) {
      engine.writes().put(0, ByteBuffer.allocate(8).putInt(written++).array(), value, 0);
      assertTrue(written < 1_000, "writers never wait for flushes that no thread does");
    }
    // Of the last put it is known only that it had to wait.
    long covered = written * 1_000L;
    assertTrue(covered > 110 << 10 && covered < 132 << 10, covered + " bytes without a flush");
    for (int i = 0; i < written; i++) {
      byte[] key = ByteBuffer.allocate(8).putInt(i).array();
      assertArrayEquals(value, engine.reads().get(0, key, StoreReads.LATEST));
    }
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private static long flushes(int batch) {
    ManualScheduler scheduler = new ManualScheduler(1, 2);
    StorageEngine engine = Engines.open(new CrashableStorage(), scheduler);
    BatchWrites buffer = new BatchWrites();
    for (int i = 0; i < ENTRIES; i++) {
      buffer.put(0, ByteBuffer.allocate(8).putLong(i).array(), new byte[20], 0);
      if (buffer.count() == batch) {
        engine.writes().write(buffer, null);
        buffer.clear();
        scheduler.runAll();
      }
    }
    long flushes = engine.stats().flushes();
    engine.close();
    assertEquals(0, engine.memoryBytes());
    return flushes;
  }
}
