package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.RelocationFixture.Sample;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A scan of a store larger than memory reads blob files in growing pieces, each byte once. */
final class OrderedReadsTest {
  private static final int RECORDS = 600;
  private static final int VALUE_BYTES = 1_000;

  private final RelocationFixture files = new RelocationFixture();
  private final List<Sample> logged = new ArrayList<>();
  private final List<Sample> ordered = new ArrayList<>();
  private long fileBytes;
  private Region pointer;

  @BeforeEach
  void fill() throws IOException {
    pointer = files.log.ledger.allocate(MemoryPurpose.READ, ValuePointer.BYTES_MAX);
    files.startSegment(1);
    for (int i = 0; i < RECORDS; i++) {
      logged.add(files.put("key" + i, VALUE_BYTES));
    }
    files.startSegment(2);
    List<Sample> shuffled = new ArrayList<>(logged);
    Collections.shuffle(shuffled, new Random(1));
    fileBytes = files.relocate(3, shuffled);
    files.list(3, fileBytes, shuffled);
    long offset = LogFormat.SEGMENT_HEADER_BYTES;
    for (Sample sample : shuffled) {
      ordered.add(files.renamed(sample, 3, offset));
      offset += files.length(sample);
    }
    files.log.beCold();
    files.log.nothingInMemory = true;
    files.log.loads.clear();
  }

  @AfterEach
  void close() {
    pointer.free();
    files.close();
  }

  private boolean load(OrderedReads reads, Sample sample) {
    return load(reads, sample, /* goesOn= */ true);
  }

  private boolean load(OrderedReads reads, Sample sample, boolean goesOn) {
    EpochSlot<SlotContext> slot = files.log.epochs.enter();
    try {
      pointer.put(0, sample.pointer(), 0, sample.pointer().length);
      return reads.load(pointer, 0, goesOn);
    } finally {
      files.log.epochs.exit(slot);
    }
  }

  private int loadedBytes() {
    return files.log.loads.stream().mapToInt(i -> i).sum();
  }

  @Test
  void aWalkReadsTheFileOnceInGrowingPieces() {
    OrderedReads reads = files.log.reader.newOrderedReads();
    for (Sample sample : ordered) {
      assertTrue(load(reads, sample));
    }
    List<Integer> loads = files.log.loads;
    assertEquals(files.length(ordered.get(0)), loads.get(0));
    assertTrue(loads.size() < 16, loads::toString);
    int record = files.length(ordered.get(0));
    assertTrue(Collections.max(loads) <= (128 << 10) + record, loads::toString);
    int records = RECORDS * record;
    // Where a piece ends within a record, the next one begins with all of it.
    assertTrue(loadedBytes() >= records, loads::toString);
    assertTrue(
        loadedBytes() <= fileBytes - LogFormat.SEGMENT_HEADER_BYTES + (long) loads.size() * record,
        loads::toString);
  }

  @Test
  void whatWasReadAheadIsNotAskedForAgain() {
    OrderedReads reads = files.log.reader.newOrderedReads();
    for (int i = 0; i < 3; i++) {
      load(reads, ordered.get(i));
    }
    files.log.loads.clear();
    assertTrue(load(reads, ordered.get(3)));
    assertEquals(List.of(), files.log.loads);
  }

  @Test
  void aReaderOfAFewValuesGetsThoseOnly() {
    OrderedReads reads = files.log.reader.newOrderedReads();
    List<Integer> lengths = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      lengths.add(files.length(ordered.get(i)));
      assertTrue(load(reads, ordered.get(i), /* goesOn= */ false));
    }
    assertEquals(lengths, files.log.loads);
  }

  @Test
  void anUnreadablePageAheadDoesNotFailSoundRecords() {
    OrderedReads reads = files.log.reader.newOrderedReads();
    files.log.loadableBytesMax = 2 * VALUE_BYTES;
    for (int i = 0; i < 5; i++) {
      assertTrue(load(reads, ordered.get(i)));
    }
    assertTrue(files.log.loads.contains(4 << 10), files.log.loads::toString);
    files.log.loadableBytesMax = VALUE_BYTES;
    assertThrows(InternalError.class, () -> load(reads, ordered.get(5)));
  }

  @Test
  void lookupsFarApartReadTheirRecordsOnly() {
    OrderedReads reads = files.log.reader.newOrderedReads();
    List<Integer> lengths = new ArrayList<>();
    for (int i : new int[] {400, 10, 590, 150, 10}) {
      lengths.add(files.length(ordered.get(i)));
      assertTrue(load(reads, ordered.get(i)));
    }
    assertEquals(lengths, files.log.loads);
  }

  @Test
  void theLogIsLeftToOthers() {
    OrderedReads reads = files.log.reader.newOrderedReads();
    assertFalse(load(reads, logged.get(0)));
    assertFalse(load(reads, files.renamed(ordered.get(0), 99, 50)));
    assertFalse(load(reads, files.renamed(ordered.get(0), 3, fileBytes - 10)));
    assertFalse(load(reads, files.renamed(ordered.get(0), 3, 1L << 40)));
    assertEquals(List.of(), files.log.loads);
  }
}
