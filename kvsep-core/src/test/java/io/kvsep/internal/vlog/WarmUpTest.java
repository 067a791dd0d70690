package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How files are brought into memory, where nothing is. */
final class WarmUpTest {
  private static final int STEP_BYTES = 1 << 20;
  private static final int RECORDS = 130;
  private static final int VALUE_BYTES = 20_000;

  private final LogFixture log = new LogFixture();
  private WarmUp files;
  private long end;

  @BeforeEach
  void fill() throws IOException {
    log.startSegment(1);
    for (int i = 0; i < RECORDS; i++) {
      byte[] value = LogFixture.random(new Random(i), VALUE_BYTES);
      log.append(i + 1L, LogFixture.put("key" + i, value));
    }
    end = log.writer.end().offset();
    log.startSegment(2);
    log.writer.sync();
    files = new WarmUp(log.directory, log.ledger);
    log.storage.clearTrace();
  }

  @AfterEach
  void close() {
    files.close();
    log.close();
  }

  @Test
  void aFileIsReadFromOneEndToTheOther() {
    assertEquals(3, steps());
    assertEquals(wholeFile(), reads());
  }

  @Test
  void aSecondFileIsBegunAtItsStart() {
    steps();
    log.storage.clearTrace();
    files.restart();
    assertEquals(3, steps());
    assertEquals(wholeFile(), reads());
  }

  @Test
  void aFileThatCannotBeReadIsLeftAlone() {
    log.storage.failAt(2, Fault.EIO, /* sticky= */ true, kind -> kind == Operation.READ);
    assertTrue(step(1));
    assertFalse(step(1));
    log.storage.clearFaults();
  }

  @Test
  void aFileThatIsGoneIsLeftAlone() {
    assertFalse(step(99));
    assertEquals(List.of(), reads());
  }

  /** How many parts were read. */
  private int steps() {
    int steps = 0;
    while (step(1)) {
      steps++;
    }
    return steps;
  }

  private boolean step(long file) {
    EpochSlot<SlotContext> slot = log.epochs.enter();
    try {
      return files.step(file);
    } finally {
      log.epochs.exit(slot);
    }
  }

  private List<String> wholeFile() {
    return List.of(read(0, STEP_BYTES), read(STEP_BYTES, STEP_BYTES), lastRead());
  }

  private String lastRead() {
    return read(2L * STEP_BYTES, end - 2L * STEP_BYTES);
  }

  private static String read(long offset, long length) {
    return "read 000001.vlog " + offset + "+" + length;
  }

  private List<String> reads() {
    return log.storage.trace().stream().filter(line -> line.startsWith("read ")).toList();
  }
}
