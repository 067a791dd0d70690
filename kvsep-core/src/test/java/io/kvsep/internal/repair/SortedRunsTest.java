package io.kvsep.internal.repair;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.RecordView;
import io.kvsep.testing.CrashableStorage;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Records come in the order of keys, the newest first, also where their numbers are guesses. */
final class SortedRunsTest {
  private static final int CRC_BYTES = 4;

  private final CrashableStorage scratch = new CrashableStorage();
  private final MemoryLedger ledger = new MemoryLedger();
  private final AtomicLong numbers = new AtomicLong(1);

  /** A put with a value of one byte; its checksum is not looked at. */
  private void add(SortedRuns runs, String key, long segment, long offset, long sequence) {
    byte[] bytes = key.getBytes(UTF_8);
    int length = 3 + bytes.length + 1 + CRC_BYTES;
    Region region = ledger.allocate(MemoryPurpose.READ, length);
    try {
      region.putByte(0, (byte) Tag.PUT);
      region.putByte(1, (byte) bytes.length);
      region.putByte(2, (byte) 1);
      region.put(3, bytes, 0, bytes.length);
      RecordView record = new RecordView();
      assertTrue(record.decode(region, 0, length));
      runs.add(region, record, segment, offset, sequence);
    } finally {
      region.free();
    }
  }

  private SortedRuns runs(long memtableBytes) {
    return new SortedRuns(scratch, ledger, numbers::getAndIncrement, memtableBytes);
  }

  private static void assertNext(Versions versions, String key, long segment, long offset) {
    assertArrayEquals(key.getBytes(UTF_8), versions.key());
    assertEquals(List.of(segment, offset), List.of(versions.segment(), versions.offset()));
    versions.advance();
  }

  private void assertNothingLeft() {
    assertEquals(0, ledger.totalBytes());
    assertEquals(List.of(), scratch.openFiles());
  }

  @Test
  void ofTwoRecordsOfAKeyWithOneNumberTheOneFurtherOnInTheLogCounts() {
    try (SortedRuns runs = runs(16 << 10)) {
      add(runs, "b", 7, 40, 1_210);
      add(runs, "c", 7, 90, 1_211);
      add(runs, "a", 9, 40, 1_210);
      add(runs, "b", 9, 80, 1_210);
      add(runs, "c", 9, 120, 1_210);
      try (Versions versions = new Versions(runs.merged())) {
        assertNext(versions, "a", 9, 40);
        assertNext(versions, "b", 9, 80);
        assertNext(versions, "c", 7, 90);
        assertNull(versions.key());
      }
    }
    assertNothingLeft();
  }

  @Test
  void soItDoesWhereTheyAreInDifferentRuns() {
    String other = "k".repeat(50);
    try (SortedRuns runs = runs(4 << 10)) {
      for (int segment = 3; segment < 9; segment++) {
        add(runs, "a", segment, 40, 100);
        add(runs, "z", segment, 99, 100);
        for (int i = 0; i < 40; i++) {
          add(runs, other + i, segment, 1_000L * i, 100);
        }
      }
      try (Versions versions = new Versions(runs.merged())) {
        assertTrue(numbers.get() > 3, "several runs");
        assertNext(versions, "a", 8, 40);
        for (int i = 0; i < 40; i++) {
          assertEquals(8, versions.segment());
          versions.advance();
        }
        assertNext(versions, "z", 8, 99);
        assertNull(versions.key());
      }
    }
    assertNothingLeft();
  }
}
