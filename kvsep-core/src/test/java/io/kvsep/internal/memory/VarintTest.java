package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class VarintTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Region region = ledger.allocate(MemoryPurpose.READ, 16);

  @AfterEach
  void nothingIsLeft() {
    region.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void roundTripsInTheFewestBytes() {
    for (int bits = 0; bits < 64; bits++) {
      long power = 1L << bits;
      for (long value : new long[] {power - 1, power, power + 1}) {
        roundTrip(value);
      }
    }
    roundTrip(-1);
    roundTrip(Long.MIN_VALUE);
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      roundTrip(random.nextLong() >>> random.nextInt(64));
    }
  }

  private void roundTrip(long value) {
    region.fill(0, 16, (byte) 0xff);
    int bits = new BigInteger(Long.toUnsignedString(value)).bitLength();
    int length = Math.max(1, (bits + 6) / 7);
    assertEquals(length, Varint.length(value));
    assertEquals(3 + length, Varint.put(region, 3, value));
    assertEquals(value, Varint.get(region, 3));
    assertEquals((byte) 0xff, region.getByte(2));
    if (3 + length < 16) {
      assertEquals((byte) 0xff, region.getByte(3 + length));
    }
    for (int i = 0; i < length - 1; i++) {
      assertEquals(true, region.getByte(3 + i) < 0);
    }
    // At the end of a region nothing behind the value can be read.
    Varint.put(region, 16 - length, value);
    assertEquals(value, Varint.get(region, 16 - length));
    Varint.put(region, 3, value);
    // A last byte of zero would be one too many.
    assertEquals(true, length == 1 || region.getByte(3 + length - 1) > 0);
  }

  @Test
  void persistedBytesNeverChange() {
    assertArrayEquals(new byte[] {0}, encoded(0));
    assertArrayEquals(new byte[] {0x7f}, encoded(127));
    assertArrayEquals(new byte[] {(byte) 0x80, 1}, encoded(128));
    assertArrayEquals(new byte[] {(byte) 0xac, 2}, encoded(300));
    assertArrayEquals(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1, 0x7f}, encoded(Long.MAX_VALUE));
    assertArrayEquals(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1, -1, 1}, encoded(-1));
  }

  private byte[] encoded(long value) {
    return region.getBytes(0, (int) Varint.put(region, 0, value));
  }

  @Test
  void varintWithoutEndIsRefused() {
    region.fill(0, 16, (byte) 0x80);
    assertThrows(IndexOutOfBoundsException.class, () -> Varint.get(region, 0));
    // It ends behind the region.
    assertThrows(IndexOutOfBoundsException.class, () -> Varint.get(region, 15));
    assertThrows(IndexOutOfBoundsException.class, () -> Varint.get(region, 16));
    assertThrows(IndexOutOfBoundsException.class, () -> Varint.put(region, 15, 128));
  }

  @Test
  void intTakesOnlyWhatIsOne() {
    for (long value : new long[] {0, 1, 127, 128, Integer.MAX_VALUE}) {
      Varint.put(region, 0, value);
      assertEquals(value, Varint.getInt(region, 0));
    }
    for (long value : new long[] {1L << 31, 1L << 32, Long.MAX_VALUE, -1, Long.MIN_VALUE}) {
      Varint.put(region, 0, value);
      assertThrows(IndexOutOfBoundsException.class, () -> Varint.getInt(region, 0));
    }
  }
}
