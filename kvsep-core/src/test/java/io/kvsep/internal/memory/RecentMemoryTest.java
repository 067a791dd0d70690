package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** How often the statistics of the system are read. */
final class RecentMemoryTest {
  @Test
  void manyQuestionsInARowAreAnsweredFromOneReading() {
    AtomicLong nanos = new AtomicLong(-1);
    AtomicLong readings = new AtomicLong();
    ColdReadPolicy.Memory memory =
        new ColdReadPolicy.Memory() {
          @Override
          public long fileBytes() {
            return readings.incrementAndGet();
          }

          @Override
          public long majorFaults() {
            return 10 * readings.get();
          }
        };
    RecentMemory recent = new RecentMemory(memory, nanos::get);
    for (int i = 0; i < 10; i++) {
      assertEquals(1, recent.fileBytes());
      assertEquals(10, recent.majorFaults());
    }
    nanos.addAndGet(500_000_000);
    assertEquals(20, recent.majorFaults());
    assertEquals(2, recent.fileBytes());
  }
}
