package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.background.FileRemover;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What a reader has found of a segment stays until it has left: the segment in the directory, its
 * mapping, its open file.
 */
final class SegmentLifetimeTest {
  private static final String FILE = StoreFiles.segment(1);
  private static final byte[] VALUE = {1, 2, 3};

  /** One that is worth a new mapping. */
  private static final int LONG_RECORD = 1 << 20;

  private final LogFixture log = new LogFixture();
  private final FileRemover remover =
      new FileRemover(
          Engines.config(log.storage, new ManualScheduler(1, 1)), log.epochs, log.directory);

  /** Left at the end of a test that fails, too. */
  private final List<EpochSlot<SlotContext>> entered = new ArrayList<>();

  @AfterEach
  void everythingIsGivenBack() {
    entered.forEach(log.epochs::exit);
    log.close();
  }

  private EpochSlot<SlotContext> enter() {
    EpochSlot<SlotContext> slot = log.epochs.enter();
    entered.add(slot);
    return slot;
  }

  /** A sealed segment with one value. */
  private Indexed entry() throws IOException {
    log.startSegment(1);
    Indexed entry = log.entries(log.append(1, LogFixture.put("key", VALUE))).get(0);
    log.reopenForReading(/* sealed= */ true, log.contents(1).length);
    return entry;
  }

  @Test
  void aReaderThatWasInsideStillFindsTheSegment() throws IOException {
    Indexed entry = entry();
    EpochSlot<SlotContext> inside = enter();
    remover.obsolete(List.of(), List.of(1L));
    log.epochs.collect();
    assertArrayEquals(VALUE, log.read(entry));
    log.epochs.exit(inside);
    log.epochs.collect();
    assertNull(log.directory.find(1));
    assertFalse(log.storage.exists(FILE));
  }

  @Test
  void aReaderThatFoundTheSegmentBeforeItWasHiddenKeepsItsMapping() throws IOException {
    entry();
    EpochSlot<SlotContext> inside = enter();
    remover.obsolete(List.of(), List.of(1L));
    // It comes later, and finds what is still listed for the one before.
    EpochSlot<SlotContext> later = enter();
    Segment found = log.directory.get(1);
    Region mapping = found.mapped(found.publishedEnd(), 0);
    assertNotNull(mapping);
    log.epochs.exit(inside);
    log.epochs.collect();
    assertNull(log.directory.find(1), "it is hidden");
    assertEquals(found.publishedEnd(), mapping.length(), "bytes that can be read");
    assertTrue(log.storage.exists(FILE));
    log.epochs.exit(later);
    log.epochs.collect();
    assertEquals(0, mapping.length());
    assertFalse(log.storage.exists(FILE));
  }

  @Test
  void aMappingThatWasReplacedByALongerOneStaysForAReaderInside() throws IOException {
    log.startSegment(1);
    log.append(1, LogFixture.put("key", VALUE));
    Segment growing = log.directory.get(1);
    EpochSlot<SlotContext> inside = enter();
    long end = growing.publishedEnd();
    Region before = growing.mapped(end, LONG_RECORD);
    log.append(2, LogFixture.put("other", VALUE));
    Region after = growing.mapped(growing.publishedEnd(), LONG_RECORD);
    assertNotNull(before);
    assertNotNull(after);
    assertTrue(after.length() > end);
    log.epochs.collect();
    assertEquals(end, before.length());
    log.epochs.exit(inside);
    log.epochs.collect();
    assertEquals(0, before.length());
  }

  @Test
  void aFileIsNotClosedUnderAReaderInside() throws IOException {
    entry();
    Segment segment = log.directory.get(1);
    segment.resume();
    EpochSlot<SlotContext> inside = enter();
    segment.closeFile();
    log.epochs.collect();
    assertEquals(List.of(FILE), log.storage.openFiles());
    log.epochs.exit(inside);
    log.epochs.collect();
    assertEquals(List.of(), log.storage.openFiles());
  }
}
