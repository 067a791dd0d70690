package io.kvsep.internal.reclaim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.engine.TrackedEngine;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.BlobFileWriter;
import io.kvsep.internal.vlog.RecordView;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.testing.CrashableStorage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A relocated file that the manifest does not name, since the store died before. */
final class OrphanedRelocationTest {
  private static final long ORPHAN = 50;

  /** Behind the header of the segment and that of its first frame. */
  private static final int FIRST_RECORD = 40 + 32;

  @Test
  void anOrphanWithRecordsIsNotTakenForLogAndGoes() throws IOException {
    CrashableStorage storage = new CrashableStorage();
    TrackedEngine tracked = new TrackedEngine(storage, Variant.LOG_ONLY, /* crashes= */ false);
    tracked.open();
    assertTrue(tracked.run(Step.PUT_LARGE));
    assertTrue(tracked.run(Step.FLUSH));
    assertTrue(tracked.close());

    CrashableStorage after = storage.crashKeepingAll();
    relocateFirstRecord(after);
    after.syncDirectory();
    assertTrue(after.exists("000050.vlog"));
    tracked.checkRecovered(after);
    assertThrows(NoSuchFileException.class, () -> after.contents("000050.vlog"));
  }

  private static void relocateFirstRecord(CrashableStorage storage) throws IOException {
    byte[] log = storage.contents("000001.vlog");
    ByteBuffer header = ByteBuffer.wrap(log).order(ByteOrder.LITTLE_ENDIAN);
    StoreId storeId = new StoreId(header.getLong(12), header.getLong(20));
    MemoryLedger ledger = new MemoryLedger();
    Epochs<SlotContext> epochs = new Epochs<>(() -> () -> {});
    SegmentDirectory directory = new SegmentDirectory();
    directory.add(
        Segment.open(storage, storeId, 1, log.length, /* sealed= */ true, epochs, ledger));
    Region region = ledger.allocate(MemoryPurpose.READ, log.length + ValuePointer.BYTES_MAX);
    region.put(0, log, 0, log.length);
    RecordView record = new RecordView();
    assertTrue(record.decode(region, FIRST_RECORD, log.length));
    ValuePointer.put(region, log.length, 1, FIRST_RECORD, record.length, record.valueLength);
    EpochSlot<SlotContext> slot = epochs.enter();
    try (BlobFileWriter writer =
        new BlobFileWriter(storage, storeId, ORPHAN, ledger, directory, Map.of(1L, 1L))) {
      writer.add(region, log.length, region, record.keyOffset, record.keyLength);
      writer.finish();
    } finally {
      epochs.exit(slot);
      region.free();
    }
    epochs.drain();
    directory.free();
    epochs.free();
    assertEquals(0, ledger.totalBytes());
  }
}
