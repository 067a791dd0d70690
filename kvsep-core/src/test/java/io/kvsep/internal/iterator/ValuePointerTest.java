package io.kvsep.internal.iterator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ValuePointerTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Region region = ledger.allocate(MemoryPurpose.READ, 64);

  @AfterEach
  void nothingIsLeft() {
    region.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void persistedBytesNeverChange() {
    assertEquals("098020e807f403", encoded(9, 4096, 1000, 500));
    assertEquals("01281000", encoded(1, 40, 16, 0));
    assertEquals(
        "ffffffffffffffff7f" + "ffffffff07" + "ffffffff07" + "8080808004",
        encoded(Long.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE, 1 << 30));
  }

  private String encoded(long segment, long offset, int recordLength, int valueLength) {
    long end = ValuePointer.put(region, 5, segment, offset, recordLength, valueLength);
    return HexFormat.of().formatHex(region.getBytes(5, (int) end - 5));
  }

  @Test
  void roundTrips() {
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      long segment = random.nextLong() >>> (1 + random.nextInt(63));
      long offset = random.nextLong(1L << 31) >>> random.nextInt(31);
      int recordLength = random.nextInt(Integer.MAX_VALUE) >>> random.nextInt(31);
      int valueLength = random.nextInt(Limits.VALUE_BYTES_MAX + 1) >>> random.nextInt(31);
      int at = random.nextInt(32);
      long end = ValuePointer.put(region, at, segment, offset, recordLength, valueLength);
      int length = (int) (end - at);
      assertEquals(length, ValuePointer.encodedLength(segment, offset, recordLength, valueLength));
      assertTrue(length <= ValuePointer.BYTES_MAX);
      assertEquals(segment, ValuePointer.segment(region, at));
      assertEquals(offset, ValuePointer.offset(region, at));
      assertEquals(recordLength, ValuePointer.recordLength(region, at));
      assertEquals(valueLength, ValuePointer.valueLength(region, at));
    }
  }

  @Test
  void lengthThatIsNoIntIsRefused() {
    long at = Varint.put(region, 0, 1);
    at = Varint.put(region, at, 40);
    at = Varint.put(region, at, 1L << 31);
    Varint.put(region, at, -1);
    assertThrows(IndexOutOfBoundsException.class, () -> ValuePointer.recordLength(region, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> ValuePointer.valueLength(region, 0));
  }
}
