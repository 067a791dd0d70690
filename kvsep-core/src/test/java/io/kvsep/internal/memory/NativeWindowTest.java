package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class NativeWindowTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Region region = ledger.allocate(MemoryPurpose.READ, 4096);
  private final NativeWindow window = new NativeWindow();
  private final byte[] bytes = new byte[4096];

  NativeWindowTest() {
    new Random(3).nextBytes(bytes);
    region.put(0, bytes, 0, bytes.length);
  }

  @AfterEach
  void nothingIsLeft() {
    region.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void checksumIsTheOneOfTheJdk() {
    Random random = new Random(4);
    for (int i = 0; i < 2000; i++) {
      int offset = random.nextInt(bytes.length);
      int count = random.nextInt(bytes.length - offset + 1);
      assertEquals(crc(offset, count), window.crc32c(region, offset, count));
    }
    assertEquals(0, window.crc32c(region, 0, 0));
    // The check value of the Castagnoli polynomial.
    region.put(0, "123456789".getBytes(StandardCharsets.US_ASCII), 0, 9);
    assertEquals(0xe3069283, window.crc32c(region, 0, 9));
  }

  @Test
  void checksumStaysInItsRegion() {
    long[][] ranges = {{0, 4097}, {4090, 7}, {-1, 5}, {4097, 0}, {10, -1}, {Long.MAX_VALUE, 5}};
    for (long[] range : ranges) {
      assertThrows(
          IndexOutOfBoundsException.class, () -> window.crc32c(region, range[0], range[1]));
    }
    Region freed = ledger.allocate(MemoryPurpose.READ, 64);
    freed.free();
    assertThrows(IndexOutOfBoundsException.class, () -> window.crc32c(freed, 0, 8));
  }

  @Test
  void checksumInPartsIsThatOfTheWhole() {
    window.crc32cReset();
    window.crc32cMore(region, 5, 100);
    window.crc32cMore(region, 105, 0);
    assertEquals(crc(5, 1000), window.crc32cMore(region, 105, 900));
    window.crc32cReset();
    assertEquals(crc(0, 10), window.crc32cMore(region, 0, 10));
  }

  @Test
  void bufferCoversExactlyTheRangeAndMoves() {
    ByteBuffer first = window.over(region, 17, 30);
    assertTrue(first.isDirect());
    byte[] read = new byte[first.remaining()];
    first.get(read);
    assertArrayEquals(region.getBytes(17, 30), read);
    ByteBuffer second = window.over(region, 4000, 96);
    assertEquals(96, second.remaining());
    assertEquals(bytes[4000], second.get());
    second.put(1, (byte) 77);
    assertEquals(77, region.getByte(4001));
    assertEquals(0, window.over(region, 4096, 0).remaining());
    // Of another order LZ4's Java code makes a duplicate for each value.
    assertEquals(ByteOrder.nativeOrder(), window.over(region, 0, 8).order());
  }

  private int crc(int offset, int count) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, count);
    return (int) crc.getValue();
  }
}
