package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which reads a batch makes of its records, and what it says of them afterwards. */
final class ReadBatchTest {
  private static final long SLOW_NANOS = 1_000_000;

  private final LogFixture log = new LogFixture();
  private final List<Indexed> entries = new ArrayList<>();
  private Region pointers;

  @BeforeEach
  void fill() throws IOException {
    pointers = log.ledger.allocate(MemoryPurpose.READ, 100L * ValuePointer.BYTES_MAX);
    log.startSegment(1);
    for (int i = 0; i < 60; i++) {
      entries.add(append(i, 20_000));
    }
  }

  @AfterEach
  void close() {
    pointers.free();
    log.close();
  }

  private Indexed append(int number, int length) throws IOException {
    byte[] value = LogFixture.random(new Random(number), length);
    return log.entries(log.append(number + 1L, LogFixture.put("key" + number, value))).get(0);
  }

  @Test
  void recordsFarApartAreReadOneByOneInOrderOfPlace() {
    ReadBatch batch = batch(40, 10, 30);
    finish(batch);
    assertEquals(3, reads().size());
    List<Long> offsets = reads().stream().map(read -> offsetOf(read)).toList();
    assertEquals(offsets.stream().sorted().toList(), offsets);
    for (int i : new int[] {10, 30, 40}) {
      assertTrue(holds(batch, i));
    }
    assertFalse(holds(batch, 11));
  }

  @Test
  void neighboursAreReadTogetherAndTwinsOnce() {
    finish(batch(12, 10, 11, 10));
    assertEquals(1, reads().size());
  }

  @Test
  void nothingIsReadBeyondTheRecords() {
    ReadBatch batch = batch(5);
    long offset = ValuePointer.offset(pointers, place(5));
    int length = ValuePointer.recordLength(pointers, place(5));
    finish(batch);
    assertEquals(List.of("read 000001.vlog " + offset + "+" + length), reads());
  }

  @Test
  void aLongRunIsCutIntoPieces() {
    List<Integer> all = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      all.add(i);
    }
    Collections.shuffle(all, new Random(3));
    ReadBatch batch = batch(all.stream().mapToInt(i -> i).toArray());
    assertEquals(60, batch.count());
    long bytes = batch.bytes();
    assertEquals(bytes / ValueReader.LOAD_BYTES_MAX + 1, batch.waiting());
    finish(batch);
    assertEquals(bytes / ValueReader.LOAD_BYTES_MAX + 1, reads().size());
  }

  @Test
  void readsOfItsOwnerEndAtTheFirstThatIsSlow() {
    ReadBatch batch = batch(10, 20, 30, 40);
    log.warmUp(entries.get(50));
    inside(batch::runUntilSlow);
    assertEquals(0, batch.waiting(), "all is in memory");

    ReadBatch slow = batch(10, 20, 30, 40);
    slowly(() -> inside(slow::runUntilSlow));
    assertEquals(3, slow.waiting());
    assertTrue(log.reader.isCold());
    inside(slow::finish);
    assertTrue(holds(slow, 40));
  }

  @Test
  void afterCancelNothingIsReadAndNothingHeld() {
    ReadBatch batch = batch(10, 20, 30);
    batch.cancel();
    inside(batch::run);
    assertEquals(List.of(), reads());
    assertFalse(holds(batch, 10));
    batch.cancel();
  }

  @Test
  void aFileThatIsNotListedAnyMoreIsNotTouched() {
    ReadBatch batch = batch(10, 20, 30);
    Segment gone = Objects.requireNonNull(log.directory.unlist(1));
    finish(batch);
    assertEquals(List.of(), reads());
    assertFalse(holds(batch, 10));
    log.directory.add(gone);
  }

  @Test
  void cancelAfterFinishForgetsNothing() {
    ReadBatch batch = batch(10, 20);
    finish(batch);
    batch.cancel();
    assertTrue(holds(batch, 10));
  }

  @Test
  void aFailedReadIsReportedToWhoeverReadsTheRecord() {
    ReadBatch batch = batch(10, 20, 30);
    log.storage.failAt(2, Fault.EIO, /* sticky= */ true, op -> op == Operation.READ);
    finish(batch);
    assertFalse(holds(batch, 30));
    assertThrows(StorageException.class, () -> log.read(entries.get(30)));
    log.storage.clearFaults();
    assertEquals(20_000, log.read(entries.get(30)).length);
  }

  @Test
  void aDamagedRecordIsFoundByWhoeverReadsIt() throws IOException {
    long offset = ValuePointer.offset(pointers, place(20));
    log.storage.corrupt("000001.vlog", offset + 500, b -> b ^ 1);
    ReadBatch batch = batch(10, 20, 30);
    finish(batch);
    assertArrayEquals(LogFixture.random(new Random(10), 20_000), loaded(10));
    assertThrows(CorruptionException.class, () -> loaded(20));
    assertArrayEquals(LogFixture.random(new Random(30), 20_000), loaded(30));
  }

  @Test
  void pointersOutOfTheLogAreLeftAlone() {
    ReadBatch batch = log.reader.newBatch();
    long end = log.writer.end().offset();
    addTo(batch, 9, 50, 100);
    addTo(batch, 1, end - 50, 100);
    addTo(batch, 1, Long.MAX_VALUE - 10, 100);
    addTo(batch, 1, 1L << 40, 100);
    addTo(batch, Long.MAX_VALUE, 50, 100);
    addTo(batch, 1, 50, Integer.MAX_VALUE);
    addTo(batch, 1, 50, 0);
    batch.prepare();
    finish(batch);
    assertEquals(0, batch.count());
    assertEquals(List.of(), reads());
  }

  @Test
  void fewFilesOfSealedSegmentsStayOpen() throws IOException {
    List<Indexed> spread = new ArrayList<>();
    for (int segment = 2; segment < 302; segment++) {
      log.startSegment(segment);
      spread.add(append(segment, 10));
      log.writer.sync();
    }
    for (int round = 0; round < 2; round++) {
      for (Indexed entry : spread) {
        log.read(entry);
      }
    }
    // With them the active segment's, and the one closed last, until its reader has left.
    int open = log.storage.openFiles().size();
    assertTrue(open > 200 && open <= 256 + 2, open + " files are open");
  }

  private long place(int entry) {
    long at = (long) entry * ValuePointer.BYTES_MAX;
    pointers.put(at, entries.get(entry).payload(), 0, entries.get(entry).payload().length);
    return at;
  }

  private ReadBatch batch(int... chosen) {
    ReadBatch batch = log.reader.newBatch();
    for (int entry : chosen) {
      batch.add(pointers, place(entry));
    }
    batch.prepare();
    log.storage.clearTrace();
    return batch;
  }

  private void addTo(ReadBatch batch, long segment, long offset, int length) {
    ValuePointer.put(pointers, 0, segment, offset, length, 10);
    batch.add(pointers, 0);
    log.storage.clearTrace();
  }

  private boolean holds(ReadBatch batch, int entry) {
    return batch.holds(pointers, place(entry));
  }

  private byte[] loaded(int entry) {
    log.scratch.expectLoaded();
    return log.read(entries.get(entry));
  }

  private void finish(ReadBatch batch) {
    inside(batch::finish);
  }

  private void inside(Consumer<ValueReader.Scratch> work) {
    EpochSlot<SlotContext> slot = log.epochs.enter();
    try {
      work.accept(log.scratch);
    } finally {
      log.epochs.exit(slot);
    }
  }

  /** Lets every look at the clock find that much time has passed. */
  private void slowly(Runnable work) {
    log.nanosPerLook = SLOW_NANOS;
    work.run();
    log.nanosPerLook = 0;
  }

  private List<String> reads() {
    return log.storage.trace().stream().filter(line -> line.startsWith("read ")).toList();
  }

  private static long offsetOf(String read) {
    return Long.parseLong(read.substring(read.lastIndexOf(' ') + 1, read.indexOf('+')));
  }
}
