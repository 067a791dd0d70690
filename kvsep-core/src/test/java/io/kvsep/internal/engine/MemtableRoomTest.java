package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.nio.ByteBuffer;
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

  private static long flushes(int batch) {
    ManualScheduler scheduler = new ManualScheduler(1, 2);
    StorageEngine engine = Engines.open(new CrashableStorage(), scheduler);
    WriteBuffer buffer = new WriteBuffer();
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
