package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which reads a batch makes of its records, and what it says of them afterwards. */
final class ReadBatchTest {
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
    log.startSegment(2);
    log.writer.sync();
    log.beCold();
    log.nothingInMemory = true;
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
  void recordsFarApartAreReadOneByOneAndNothingBeyondThem() {
    ReadBatch batch = batch(40, 10, 30);
    finish(batch);
    int length = ValuePointer.recordLength(pointers, place(10));
    assertEquals(List.of(length, length, length), log.loads);
    for (int i : new int[] {10, 30, 40}) {
      assertTrue(covers(batch, i));
    }
    assertFalse(covers(batch, 11));
  }

  @Test
  void aPageThatCannotBeReadIsLeftToTheReaderOfItsRecord() {
    log.loadableBytesMax = 0;
    ReadBatch batch = batch(40, 10);
    finish(batch);
    assertEquals(2, log.loads.size());
  }

  @Test
  void neighboursAreReadTogetherAndTwinsOnce() {
    finish(batch(12, 10, 11, 10));
    int length = ValuePointer.recordLength(pointers, place(10));
    // Frames of one record each have a header between two records.
    assertEquals(List.of(3 * length + 2 * Segment.FRAME_BYTES), log.loads);
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
    int pieces = (int) (batch.bytes() / (64 << 10)) + 1;
    assertEquals(pieces, batch.waiting());
    finish(batch);
    assertEquals(pieces, log.loads.size());
  }

  @Test
  void readsOfItsOwnerEndAtTheFirstFromTheDevice() {
    log.nothingInMemory = false;
    ReadBatch batch = batch(10, 20, 30, 40);
    inside(batch::runUntilSlow);
    assertEquals(0, batch.waiting(), "all is in memory");

    log.nothingInMemory = true;
    ReadBatch slow = batch(10, 20, 30, 40);
    inside(slow::runUntilSlow);
    assertEquals(3, slow.waiting());
    inside(slow::finish);
    assertEquals(4, log.loads.size());
  }

  @Test
  void afterCancelNothingIsRead() {
    ReadBatch batch = batch(10, 20, 30);
    batch.cancel();
    inside(batch::run);
    assertEquals(List.of(), log.loads);
    batch.cancel();
  }

  @Test
  void aFileThatIsNotListedAnyMoreIsNotTouched() {
    ReadBatch batch = batch(10, 20, 30);
    Segment gone = Objects.requireNonNull(log.directory.unlist(1));
    finish(batch);
    assertEquals(List.of(), log.loads);
    log.directory.add(gone);
  }

  @Test
  void aRecordIsLoadedAgainBeforeItIsRead() {
    finish(batch(10));
    int length = ValuePointer.recordLength(pointers, place(10));
    log.read(entries.get(10));
    assertEquals(List.of(length, length), log.loads);
  }

  @Test
  void aDamagedRecordIsFoundByItsReader() throws IOException {
    long offset = ValuePointer.offset(pointers, place(20));
    log.storage.corrupt("000001.vlog", offset + 500, b -> b ^ 1);
    ReadBatch batch = batch(10, 20, 30);
    finish(batch);
    assertArrayEquals(LogFixture.random(new Random(10), 20_000), log.read(entries.get(10)));
    assertThrows(CorruptionException.class, () -> log.read(entries.get(20)));
    assertArrayEquals(LogFixture.random(new Random(30), 20_000), log.read(entries.get(30)));
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
    assertEquals(List.of(), log.loads);
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
    log.loads.clear();
    return batch;
  }

  private void addTo(ReadBatch batch, long segment, long offset, int length) {
    ValuePointer.put(pointers, 0, segment, offset, length, 10);
    batch.add(pointers, 0);
    log.loads.clear();
  }

  private boolean covers(ReadBatch batch, int entry) {
    return batch.covers(pointers, place(entry));
  }

  private void finish(ReadBatch batch) {
    inside(batch::finish);
  }

  private void inside(Runnable work) {
    EpochSlot<SlotContext> slot = log.epochs.enter();
    try {
      work.run();
    } finally {
      log.epochs.exit(slot);
    }
  }
}
