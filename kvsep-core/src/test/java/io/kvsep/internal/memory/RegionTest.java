package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Every way to reach a byte, at and beyond both ends of the region. */
final class RegionTest {
  private final MemoryLedger ledger = new MemoryLedger();

  /** An access of {@code count} bytes at an offset. */
  private record Access(String name, int count, Call call) {
    void refuses(Region region, long offset) {
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> call.at(region, offset),
          () -> name + " at " + offset + " of " + region.length());
    }
  }

  private interface Call {
    void at(Region region, long offset);
  }

  private final Region other = ledger.allocate(MemoryPurpose.READ, 64);

  private List<Access> accesses() {
    return List.of(
        new Access("getByte", 1, Region::getByte),
        new Access("putByte", 1, (r, at) -> r.putByte(at, (byte) 1)),
        new Access("getInt", 4, Region::getInt),
        new Access("putInt", 4, (r, at) -> r.putInt(at, 1)),
        new Access("getLong", 8, Region::getLong),
        new Access("putLong", 8, (r, at) -> r.putLong(at, 1)),
        new Access("getLongVolatile", 8, Region::getLongVolatile),
        new Access("putLongRelease", 8, (r, at) -> r.putLongRelease(at, 1)),
        new Access("getIntVolatile", 4, Region::getIntVolatile),
        new Access("putIntRelease", 4, (r, at) -> r.putIntRelease(at, 1)),
        new Access("keyPrefix of 3", 3, (r, at) -> r.keyPrefix(at, 3)),
        new Access("keyPrefix of 11", 11, (r, at) -> r.keyPrefix(at, 11)),
        new Access("get", 5, (r, at) -> r.get(at, new byte[5], 0, 5)),
        new Access("getFew", 5, (r, at) -> r.getFew(at, new byte[5], 0, 5)),
        new Access("getFew with room", 5, (r, at) -> r.getFew(at, new byte[12], 0, 5)),
        new Access("getBytes", 5, (r, at) -> r.getBytes(at, 5)),
        new Access("put array", 5, (r, at) -> r.put(at, new byte[5], 0, 5)),
        new Access("put region", 5, (r, at) -> r.put(at, other, 0, 5)),
        new Access("put from", 5, (r, at) -> other.put(0, r, at, 5)),
        new Access("fill", 5, (r, at) -> r.fill(at, 5, (byte) 0)),
        new Access("compare first", 5, (r, at) -> Region.compare(r, at, 5, other, 0, 5)),
        new Access("compare second", 5, (r, at) -> Region.compare(other, 0, 5, r, at, 5)),
        new Access("compareTo", 5, (r, at) -> r.compareTo(at, 5, new byte[5])),
        new Access("holds", 5, (r, at) -> r.holds(at, new byte[5], 5)),
        new Access("prefix first", 5, (r, at) -> Region.commonPrefix(r, at, 5, other, 0, 5)),
        new Access("prefix second", 5, (r, at) -> Region.commonPrefix(other, 0, 5, r, at, 5)),
        new Access("window", 5, (r, at) -> new NativeWindow().over(r, at, 5)),
        new Access("crc32c", 5, (r, at) -> new NativeWindow().crc32c(r, at, 5)),
        new Access("touch", 5, (r, at) -> r.touch(at, 5)),
        new Access("touch apart", 5, (r, at) -> r.touchApart(at, 5)),
        new Access("hash", 5, (r, at) -> KeyHash.of(r, at, 5)));
  }

  @AfterEach
  void nothingIsLeft() {
    other.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void accessOutsideIsRefusedAndAtBothEndsIsNot() {
    Region region = ledger.allocate(MemoryPurpose.READ, 48);
    for (Access access : accesses()) {
      access.call.at(region, 0);
      // The one access that must be aligned reaches the last four bytes either way.
      access.call.at(region, 48 - access.count);
      refusesOutside(access, region, 48);
    }
    region.free();
  }

  @Test
  void accessToARegionShorterThanTheValueIsRefused() {
    for (int length = 1; length < 8; length++) {
      Region region = ledger.allocate(MemoryPurpose.READ, length);
      for (Access access : accesses()) {
        if (access.count > length) {
          access.refuses(region, 0);
          refusesOutside(access, region, length);
        }
      }
      region.free();
    }
  }

  @Test
  void accessAfterFreeIsRefused() {
    Region region = ledger.allocate(MemoryPurpose.READ, 48);
    region.free();
    assertEquals(0, region.length());
    for (Access access : accesses()) {
      access.refuses(region, 0);
      refusesOutside(access, region, 0);
    }
    region.free();
  }

  private static void refusesOutside(Access access, Region region, long length) {
    access.refuses(region, -1);
    access.refuses(region, Long.MIN_VALUE);
    access.refuses(region, length - access.count + 1);
    access.refuses(region, length);
    access.refuses(region, length + 1);
    access.refuses(region, Integer.MAX_VALUE);
    access.refuses(region, 1L << 32);
    for (int i = 0; i <= 16; i++) {
      access.refuses(region, Long.MAX_VALUE - i);
    }
  }

  @Test
  void impossibleCountsAreRefused() {
    Region region = ledger.allocate(MemoryPurpose.READ, 16);
    byte[] array = new byte[16];
    for (long count : new long[] {-1, 17, 1L << 33, Long.MAX_VALUE, Long.MIN_VALUE}) {
      for (long offset : new long[] {0, 1, 16, Long.MAX_VALUE}) {
        refused(() -> region.fill(offset, count, (byte) 0));
        refused(() -> region.put(offset, other, 0, count));
        refused(() -> other.put(0, region, offset, count));
        refused(() -> region.putNative(offset, 0, count));
        refused(() -> region.getNative(offset, 0, count));
      }
    }
    for (int count : new int[] {-1, 17, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      refused(() -> region.getBytes(0, count));
      refused(() -> region.get(0, array, 0, count));
      refused(() -> region.getFew(0, array, 0, count));
      refused(() -> region.put(0, array, 0, count));
      refused(() -> region.keyPrefix(0, count));
      refused(() -> region.touch(0, count));
      refused(() -> region.touchApart(0, count));
      refused(() -> region.compareTo(0, count, array));
    }
    region.free();
  }

  @Test
  void rangesOutsideTheArrayAreRefused() {
    Region region = ledger.allocate(MemoryPurpose.READ, 64);
    int[][] ranges = {
      {-1, 1},
      {0, 17},
      {16, 1},
      {17, 0},
      {9, 8},
      {Integer.MAX_VALUE, 8},
      {Integer.MIN_VALUE, 8},
      {Integer.MAX_VALUE, 0},
      {Integer.MAX_VALUE, 64}
    };
    for (byte[] array : List.of(new byte[16], new byte[0])) {
      for (int[] range : ranges) {
        refused(() -> region.get(0, array, range[0], range[1]));
        refused(() -> region.getFew(0, array, range[0], range[1]));
        refused(() -> region.put(0, array, range[0], range[1]));
      }
    }
    region.get(0, new byte[16], 16, 0);
    region.put(64, new byte[0], 0, 0);
    region.free();
  }

  private static void refused(Runnable access) {
    assertThrows(IndexOutOfBoundsException.class, access::run);
  }

  @Test
  void newMemoryIsZeroAndNumbersAreLittleEndian() {
    Region region = ledger.allocate(MemoryPurpose.READ, 17);
    assertArrayEquals(new byte[17], region.getBytes(0, 17));
    region.putLong(1, 0x0807_0605_0403_0201L);
    region.putInt(9, 0x8c0b_0a09);
    assertArrayEquals(
        new byte[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, (byte) 0x8c, 0, 0, 0, 0},
        region.getBytes(0, 17));
    assertEquals(0x0807_0605_0403_0201L, region.getLong(1));
    assertEquals(0x8c0b_0a09, region.getInt(9));
    assertEquals(0x0605_0403, region.getInt(3));
    region.free();
  }

  @Test
  void whatIsReleasedIsReadLikeAnythingElse() {
    Region region = ledger.allocate(MemoryPurpose.READ, 24);
    long number = 0x8102_0304_0506_0708L;
    region.putLongRelease(8, number);
    assertEquals(number, region.getLongVolatile(8));
    assertEquals(number, region.getLong(8));
    region.putIntRelease(4, 0x8000_0102);
    assertEquals(0x8000_0102, region.getIntVolatile(4));
    assertEquals(0x8000_0102, region.getInt(4));
    assertEquals(0, region.getInt(0));
    assertEquals(number, region.getLong(8));
    assertEquals(0, region.getLong(16));
    region.free();
  }

  @Test
  void comparisonsAgreeWithThoseOfArrays() {
    Seeds.run(getClass(), "comparisonsAgreeWithThoseOfArrays", 1, 20, this::compareRandomKeys);
  }

  private void compareRandomKeys(long seed) {
    Random random = new Random(seed);
    for (int aLength = 0; aLength <= 40; aLength++) {
      for (int bLength = 0; bLength <= 40; bLength++) {
        byte[] a = new byte[aLength];
        random.nextBytes(a);
        byte[] b = Arrays.copyOf(a, bLength);
        if (bLength > aLength) {
          byte[] tail = new byte[bLength - aLength];
          random.nextBytes(tail);
          System.arraycopy(tail, 0, b, aLength, tail.length);
        }
        if (bLength > 0 && random.nextInt(4) > 0) {
          b[random.nextInt(bLength)] ^= (byte) (1 << random.nextInt(8));
        }
        compareKeys(a, random.nextInt(9), b, random.nextInt(9));
      }
    }
  }

  private void compareKeys(byte[] a, int aOffset, byte[] b, int bOffset) {
    Region x = filled(a, aOffset);
    Region y = filled(b, bOffset);
    int expected = Integer.signum(Arrays.compareUnsigned(a, b));
    int order = Region.compare(x, aOffset, a.length, y, bOffset, b.length);
    assertEquals(expected, Integer.signum(order));
    assertEquals(expected, Integer.signum(x.compareTo(aOffset, a.length, b)));
    int mismatch = Arrays.mismatch(a, b);
    assertEquals(
        mismatch < 0 ? a.length : mismatch,
        Region.commonPrefix(x, aOffset, a.length, y, bOffset, b.length));
    int common = Math.min(a.length, b.length);
    assertEquals(mismatch < 0 || mismatch >= common, x.holds(aOffset, b, common));
    assertEquals(prefix(a), x.keyPrefix(aOffset, a.length));
    int prefixOrder = Long.compareUnsigned(prefix(a), prefix(b));
    assertTrue(prefixOrder == 0 || Integer.signum(prefixOrder) == expected);
    x.free();
    y.free();
  }

  private static long prefix(byte[] key) {
    return ByteBuffer.wrap(Arrays.copyOf(key, 8)).order(ByteOrder.BIG_ENDIAN).getLong();
  }

  /** The bytes at an offset, with other bytes on both sides. */
  private Region filled(byte[] bytes, int offset) {
    Region region = ledger.allocate(MemoryPurpose.READ, offset + bytes.length + 8L);
    region.fill(0, region.length(), (byte) 0x5a);
    region.put(offset, bytes, 0, bytes.length);
    return region;
  }

  @Test
  void copiesReachExactlyTheirRange() {
    Region region = ledger.allocate(MemoryPurpose.READ, 8);
    region.fill(2, 3, (byte) 7);
    assertArrayEquals(new byte[] {0, 0, 7, 7, 7, 0, 0, 0}, region.getBytes(0, 8));
    region.put(6, new byte[] {1, 2, 3, 4}, 1, 2);
    assertArrayEquals(new byte[] {0, 0, 7, 7, 7, 0, 2, 3}, region.getBytes(0, 8));
    other.put(0, region, 4, 4);
    assertArrayEquals(new byte[] {7, 0, 2, 3, 0}, other.getBytes(0, 5));
    byte[] target = {9, 9, 9, 9};
    region.get(6, target, 1, 2);
    assertArrayEquals(new byte[] {9, 2, 3, 9}, target);
    region.free();
  }

  @Test
  void fewBytesAreCopiedWithAtMostSevenMore() {
    Region region = ledger.allocate(MemoryPurpose.READ, 100);
    for (int i = 0; i < 100; i++) {
      region.putByte(i, (byte) (i + 1));
    }
    for (int offset = 0; offset <= 100; offset++) {
      for (int count = 0; count <= 100 - offset; count++) {
        for (int room = 0; room < 10; room++) {
          byte[] target = new byte[3 + count + room];
          region.getFew(offset, target, 3, count);
          assertArrayEquals(
              region.getBytes(offset, count), Arrays.copyOfRange(target, 3, 3 + count));
          assertArrayEquals(new byte[3], Arrays.copyOf(target, 3));
          for (int i = 3 + count + 7; i < target.length; i++) {
            assertEquals(0, target[i]);
          }
        }
      }
    }
    region.free();
  }

  @Test
  void mappingIsReadThroughAndFreed() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(8);
    buffer.put(3, (byte) 42).limit(6);
    Region region = Region.ofMapping(buffer);
    assertTrue(region.isMapping());
    assertFalse(other.isMapping());
    assertEquals(6, region.length());
    assertEquals(42, region.getByte(3));
    refused(() -> region.getByte(6));
    region.free();
    refused(() -> region.getByte(3));
    region.free();
    assertThrows(IllegalArgumentException.class, () -> Region.ofMapping(ByteBuffer.allocate(8)));
  }

  @Test
  void exposedPartOfAMappingOutlivesTheRegion() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(8);
    buffer.put(3, (byte) 42);
    Region region = Region.ofMapping(buffer);
    refused(() -> region.expose(4, 5));
    refused(() -> region.expose(-1, 2));
    ByteBuffer view = region.expose(2, 3);
    region.free();
    assertTrue(view.isReadOnly());
    assertEquals(3, view.remaining());
    assertEquals(42, view.get(1));
    assertThrows(IllegalStateException.class, () -> other.expose(0, 1));
  }

  @Test
  void mappingsThatMustNotOutliveTheirRegionsAreNotExposed() {
    Region region =
        Region.ofMapping(ByteBuffer.allocateDirect(8), new MemoryLedger(), /* exposable= */ false);
    assertTrue(region.isMapping());
    assertFalse(region.isExposable());
    assertFalse(region.mayExpose());
    assertThrows(IllegalStateException.class, () -> region.expose(0, 1));
    region.free();
  }

  @Test
  void mappingsThatOutliveTheirRegionsAreCounted() {
    MemoryLedger strict = new MemoryLedger(/* lingeringBytesMax= */ 10);
    Region never = Region.ofMapping(ByteBuffer.allocateDirect(100), strict, /* exposable= */ true);
    Region first = Region.ofMapping(ByteBuffer.allocateDirect(8), strict, /* exposable= */ true);
    Region second = Region.ofMapping(ByteBuffer.allocateDirect(8), strict, /* exposable= */ true);
    Region third = Region.ofMapping(ByteBuffer.allocateDirect(8), strict, /* exposable= */ true);
    assertTrue(never.isMapping());
    assertFalse(other.mayExpose());
    List<ByteBuffer> kept = List.of(first.expose(0, 1), second.expose(0, 1));
    first.free();
    first.free();
    never.free();
    assertEquals(8, strict.lingering().bytes());
    assertTrue(third.mayExpose());
    second.free();
    assertEquals(16, strict.lingering().bytes());
    assertFalse(third.mayExpose());
    third.expose(0, 1);
    assertTrue(third.mayExpose(), "another view keeps nothing more");
    third.free();
    assertFalse(third.mayExpose());
    assertEquals(0, strict.totalBytes());
    kept.forEach(view -> assertEquals(0, view.get(0)));
  }

  @Test
  void emptyRegionCannotBeAllocated() {
    assertThrows(IllegalArgumentException.class, () -> ledger.allocate(MemoryPurpose.READ, 0));
    assertThrows(IllegalArgumentException.class, () -> ledger.allocate(MemoryPurpose.READ, -1));
    assertEquals(64, ledger.totalBytes());
  }
}
