package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogReader.Outcome;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** How much of the log is read at once. */
final class LogReaderTest {
  /** Reads once; what came out of it is added to the numbers. */
  private static Outcome read(LogFixture log, LogReader reader, long after, List<Long> numbers) {
    Segment segment = log.directory.get(1);
    EpochSlot<SlotContext> slot = log.epochs.enter();
    try {
      return reader.read(
          segment,
          segment.publishedEnd(),
          after,
          Long.MAX_VALUE,
          log.scratch,
          (sequence, kind, key, value, expiresAtMillis, endsFrame) -> numbers.add(sequence));
    } finally {
      log.epochs.exit(slot);
    }
  }

  @Test
  void compressedValuesCountAsTheyWereGiven() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.compressionBytesMin = 64;
      log.startSegment(1);
      for (int i = 1; i <= 20; i++) {
        log.append(i, LogFixture.put("key", new byte[1 << 20]));
      }
      LogReader reader = new LogReader();
      List<Long> numbers = new ArrayList<>();
      for (int i = 1; i <= 20; i++) {
        assertEquals(Outcome.READ, read(log, reader, 0, numbers));
        assertEquals(i, numbers.size());
      }
      assertEquals(Outcome.PENDING, read(log, reader, 0, numbers));
    }
  }

  @Test
  void whatIsPassedOverIsReadInPartsToo() throws IOException {
    try (LogFixture log = new LogFixture()) {
      log.startSegment(1);
      Random random = new Random(1);
      int count = 100;
      for (int i = 1; i <= count; i++) {
        log.append(i, LogFixture.put("key", LogFixture.random(random, 100_000)));
      }
      LogReader reader = new LogReader();
      List<Long> numbers = new ArrayList<>();
      int parts = 0;
      while (numbers.isEmpty()) {
        assertEquals(Outcome.READ, read(log, reader, count - 1, numbers));
        parts++;
      }
      assertEquals(List.of((long) count), numbers);
      assertTrue(parts >= count * 100_000 / LogReader.PASS_BYTES, () -> "too much at once");
      assertEquals(Outcome.PENDING, read(log, reader, count - 1, numbers));
    }
  }
}
