package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ValueCodecTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final GrowingRegion target = new GrowingRegion(ledger, MemoryPurpose.READ);
  private final NativeWindow window = new NativeWindow();
  private final NativeWindow secondWindow = new NativeWindow();

  @AfterEach
  void nothingIsLeft() {
    target.close();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void whatIsKeptSavesAnEighthAndRoundTrips() {
    Random random = new Random(1);
    int kept = 0;
    int refused = 0;
    for (int i = 0; i < 3000; i++) {
      byte[] value = new byte[random.nextInt(i < 2000 ? 300 : 100_000)];
      int noise = random.nextInt(value.length + 1);
      System.arraycopy(LogFixture.random(random, noise), 0, value, 0, noise);
      int length = compress(value);
      byte[] heap = new ValueCodec().compress(value, 0, value.length);
      if (heap == null && length >= 0) {
        // Without room to spare the compressor gives up a few bytes early.
        assertTrue(length > value.length - value.length / 8 - 16);
        continue;
      }
      if (length < 0) {
        assertNull(heap);
        refused++;
        continue;
      }
      kept++;
      assertTrue(length <= value.length - value.length / 8);
      byte[] stored = target.region().getBytes(0, length);
      assertArrayEquals(heap, stored);
      assertArrayEquals(value, decompress(stored, value.length));
    }
    assertTrue(kept > 500 && refused > 500);
  }

  private int compress(byte[] value) {
    return new ValueCodec().compress(ByteBuffer.wrap(value), target, window);
  }

  /** Into memory with a fence on both sides, and into an array, which must come out the same. */
  private byte[] decompress(byte[] stored, int valueLength) {
    byte[] heap = new byte[valueLength];
    Region source = ledger.allocate(MemoryPurpose.READ, stored.length + 16L);
    Region into = ledger.allocate(MemoryPurpose.READ, valueLength + 64L);
    try {
      source.put(8, stored, 0, stored.length);
      into.fill(0, into.length(), (byte) 0x5a);
      CorruptionException first = null;
      try {
        ValueCodec.decompress(
            window.over(source, 8, stored.length),
            secondWindow.over(into, 32, valueLength),
            "file",
            99);
      } catch (CorruptionException e) {
        first = e;
      }
      for (int i = 0; i < 32; i++) {
        assertEquals(0x5a, into.getByte(i));
        assertEquals(0x5a, into.getByte(32L + valueLength + i));
      }
      CorruptionException second = null;
      try {
        ValueCodec.decompress(
            window.over(source, 8, stored.length), ByteBuffer.wrap(heap), "file", 99);
      } catch (CorruptionException e) {
        second = e;
      }
      assertEquals(first == null, second == null);
      if (first != null) {
        throw first;
      }
      assertArrayEquals(heap, into.getBytes(32, valueLength));
      return heap;
    } finally {
      source.free();
      into.free();
    }
  }

  @Test
  void blocksOfOtherWritersAreRead() {
    // A literal run, and a match with an overlapping source, by the published block format.
    assertArrayEquals(LogFixture.bytes("abc"), decompress(HexFormat.of().parseHex("30616263"), 3));
    assertArrayEquals(
        LogFixture.bytes("a".repeat(64)),
        decompress(HexFormat.of().parseHex("1f61010027506161616161"), 64));
  }

  @Test
  void everyChangeOfABlockIsDamageOrAnotherValueAndNothingElse() {
    Random random = new Random(2);
    byte[] value = LogFixture.bytes("abcdabcdxyz".repeat(20) + "Q".repeat(300) + "the end");
    int length = compress(value);
    assertTrue(length > 0);
    byte[] stored = target.region().getBytes(0, length);
    for (int offset = 0; offset < length; offset++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] damaged = stored.clone();
        damaged[offset] ^= (byte) (1 << bit);
        decompressSomehow(damaged, value.length);
      }
      decompressSomehow(Arrays.copyOf(stored, offset), value.length);
      decompressSomehow(LogFixture.random(random, 1 + offset), value.length);
    }
    decompressSomehow(Arrays.copyOf(stored, length + 5), value.length);
  }

  private void decompressSomehow(byte[] stored, int valueLength) {
    try {
      assertEquals(valueLength, decompress(stored, valueLength).length);
    } catch (CorruptionException e) {
      assertTrue(String.valueOf(e.getMessage()).contains("file"));
    }
  }

  @Test
  void anotherLengthThanThePromisedIsDamage() {
    byte[] value = new byte[500];
    int length = compress(value);
    byte[] stored = target.region().getBytes(0, length);
    assertArrayEquals(value, decompress(stored, 500));
    for (int wrong : new int[] {0, 1, 499, 501, 5000}) {
      assertThrows(CorruptionException.class, () -> decompress(stored, wrong));
    }
    assertThrows(CorruptionException.class, () -> decompress(new byte[0], 1));
  }
}
