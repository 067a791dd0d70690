package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The bytes behind a {@link Region}, by addresses. A jar built with {@code -Dkvsep.foreign} also
 * has the version in {@code src/main/java22}, with the same methods by {@code java.lang.foreign},
 * for JDK 22 and later.
 *
 * <p>Methods whose names begin with {@code get} and {@code put} check their offset. Before any
 * other, {@link Region} must have checked the range.
 */
class RawBytes {
  private static final long BYTES_BASE = UNSAFE.arrayBaseOffset(byte[].class);
  private static final long LONGS_BASE = UNSAFE.arrayBaseOffset(long[].class);
  private static final boolean BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;
  private static final ByteBuffer WINDOW_BASE = ByteBuffer.allocateDirect(8);
  private static final long BUFFER_ADDRESS = fieldOffset("address");
  private static final long BUFFER_CAPACITY = fieldOffset("capacity");

  private long address;
  private long length;
  private @Nullable ByteBuffer mapping;

  RawBytes(long length, boolean zeroed) {
    this.address = UNSAFE.allocateMemory(length);
    this.length = length;
    if (zeroed) {
      UNSAFE.setMemory(address, length, (byte) 0);
    }
  }

  /** Takes ownership of a direct buffer, from 0 to its limit. */
  RawBytes(ByteBuffer mapping) {
    this.address = UNSAFE.getLong(mapping, BUFFER_ADDRESS);
    this.length = mapping.limit();
    this.mapping = mapping;
  }

  /** 0 once released, unmapped or abandoned. */
  public final long length() {
    return length;
  }

  /** For messages and page boundaries, and for copies to and from the user's native memory. */
  final long address() {
    return address;
  }

  /** The read-only buffer from which views of a mapping are sliced. */
  final ByteBuffer views() {
    ByteBuffer source = mapping;
    if (source == null) {
      throw new IllegalStateException("not a mapping");
    }
    return source.isReadOnly() ? source : source.asReadOnlyBuffer();
  }

  final void release() {
    long start = address;
    forget();
    UNSAFE.freeMemory(start);
  }

  /** For a mapping without views. */
  final void unmap() {
    ByteBuffer unmapped = mapping;
    forget();
    if (unmapped != null) {
      MappedFiles.unmap(unmapped);
    }
  }

  /**
   * Leaves a mapping with views to the garbage collector.
   *
   * @return an object that is reachable while a view is
   */
  final @Nullable Object abandon() {
    Object abandoned = mapping;
    forget();
    return abandoned;
  }

  private void forget() {
    length = 0;
    address = 0;
    mapping = null;
  }

  final byte byteAt(long offset) {
    return UNSAFE.getByte(address + offset);
  }

  /** Little-endian. */
  final long longAt(long offset) {
    return ordered(UNSAFE.getLong(address + offset));
  }

  public final byte getByte(long offset) {
    check(offset, 1);
    return UNSAFE.getByte(address + offset);
  }

  public final void putByte(long offset, byte value) {
    check(offset, 1);
    UNSAFE.putByte(address + offset, value);
  }

  public final int getInt(long offset) {
    check(offset, 4);
    return ordered(UNSAFE.getInt(address + offset));
  }

  public final void putInt(long offset, int value) {
    check(offset, 4);
    UNSAFE.putInt(address + offset, ordered(value));
  }

  public final long getLong(long offset) {
    check(offset, 8);
    return ordered(UNSAFE.getLong(address + offset));
  }

  public final void putLong(long offset, long value) {
    check(offset, 8);
    UNSAFE.putLong(address + offset, ordered(value));
  }

  /**
   * {@code offset} and the address of the region must be multiples of eight: not every processor
   * reads an unaligned long atomically.
   */
  public final long getLongVolatile(long offset) {
    check(offset, 8);
    return ordered(UNSAFE.getLongVolatile(null, address + offset));
  }

  /** {@code offset} must be a multiple of four. */
  public final int getIntVolatile(long offset) {
    check(offset, 4);
    return ordered(UNSAFE.getIntVolatile(null, address + offset));
  }

  /** A volatile read of the value also sees everything written before it. */
  public final void putIntRelease(long offset, int value) {
    check(offset, 4);
    UNSAFE.putOrderedInt(null, address + offset, ordered(value));
  }

  /** As {@link #putIntRelease}; alignment as for {@link #getLongVolatile}. */
  public final void putLongRelease(long offset, long value) {
    check(offset, 8);
    UNSAFE.putOrderedLong(null, address + offset, ordered(value));
  }

  /** Leaves the target alone where a page cannot be read. */
  final void copyTo(byte[] target, int targetIndex, long offset, int count) {
    UNSAFE.copyMemory(null, address + offset, target, BYTES_BASE + targetIndex, count);
  }

  /** Little-endian; leaves the target alone where a page cannot be read. */
  final void copyTo(long[] target, long offset, int longs) {
    UNSAFE.copyMemory(null, address + offset, target, LONGS_BASE, 8L * longs);
    for (int i = 0; BIG_ENDIAN && i < longs; i++) {
      target[i] = Long.reverseBytes(target[i]);
    }
  }

  final void copyFrom(byte[] source, int sourceIndex, long offset, int count) {
    UNSAFE.copyMemory(source, BYTES_BASE + sourceIndex, null, address + offset, count);
  }

  final void copyFrom(RawBytes source, long sourceOffset, long offset, long count) {
    UNSAFE.copyMemory(source.address + sourceOffset, address + offset, count);
  }

  final void setAll(long offset, long count, byte value) {
    UNSAFE.setMemory(address + offset, count, value);
  }

  /** For {@link #aim}. */
  static ByteBuffer newWindow() {
    ByteBuffer window = WINDOW_BASE.slice();
    UNSAFE.putInt(window, BUFFER_CAPACITY, Integer.MAX_VALUE);
    return window.order(ByteOrder.nativeOrder());
  }

  /**
   * Returns the window as a buffer over a range, for JDK calls that take only buffers. It must not
   * leave the classes of this package and the I/O calls of their direct callers.
   */
  final ByteBuffer aim(ByteBuffer window, long offset, int count) {
    UNSAFE.putLong(window, BUFFER_ADDRESS, address + offset);
    return window.limit(count).position(0);
  }

  private void check(long offset, int count) {
    // Cannot overflow: the length is never negative, nor is the offset here.
    if (offset < 0 || length - offset < count) {
      throw outOfBounds(offset, count);
    }
  }

  final void checkRange(long offset, long count) {
    if ((offset | count) < 0 || length - offset < count) {
      throw outOfBounds(offset, count);
    }
  }

  private IndexOutOfBoundsException outOfBounds(long offset, long count) {
    return new IndexOutOfBoundsException(
        "offset=" + offset + ", count=" + count + ", region.length=" + length);
  }

  private static long ordered(long value) {
    return BIG_ENDIAN ? Long.reverseBytes(value) : value;
  }

  private static int ordered(int value) {
    return BIG_ENDIAN ? Integer.reverseBytes(value) : value;
  }

  private static long fieldOffset(String name) {
    try {
      return UNSAFE.objectFieldOffset(Buffer.class.getDeclaredField(name));
    } catch (NoSuchFieldException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
