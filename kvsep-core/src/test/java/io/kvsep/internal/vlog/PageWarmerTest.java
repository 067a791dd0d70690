package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.testing.CrashableStorage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How files are brought into memory, where nothing is. */
final class PageWarmerTest {
  private static final int STEP_BYTES = 1 << 20;
  private static final int RECORDS = 130;
  private static final int VALUE_BYTES = 20_000;

  private final CrashableStorage disk = new CrashableStorage();
  private final List<Integer> loads = new ArrayList<>();
  private final LogFixture log = new LogFixture(disk, new Loading(disk));
  private PageWarmer files;
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
    files = new PageWarmer(log.directory);
  }

  @AfterEach
  void close() {
    log.close();
  }

  @Test
  void aFileIsReadFromOneEndToTheOther() {
    assertEquals(3, steps());
    assertEquals(wholeFile(), loads);
  }

  @Test
  void aSecondFileIsBegunAtItsStart() {
    steps();
    loads.clear();
    files.restart();
    assertEquals(3, steps());
    assertEquals(wholeFile().subList(1, 4), loads);
  }

  @Test
  void aFileThatIsGoneIsLeftAlone() {
    assertFalse(step(99));
    assertEquals(List.of(), loads);
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

  /** The header, which is checked when the file is mapped, and then all of it. */
  private List<Integer> wholeFile() {
    return List.of(Segment.EMPTY_BYTES, STEP_BYTES, STEP_BYTES, (int) (end - 2 * STEP_BYTES));
  }

  private final class Loading extends ForwardingStorage {
    Loading(Storage storage) {
      super(storage);
    }

    @Override
    public boolean load(ByteBuffer mapped) {
      loads.add(mapped.remaining());
      return true;
    }
  }
}
