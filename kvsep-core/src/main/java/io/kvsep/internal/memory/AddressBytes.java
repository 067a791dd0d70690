package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The bytes behind a {@link Region}, by addresses and {@code sun.misc.Unsafe}, which is loaded by
 * the first call that needs it.
 *
 * <p>Methods whose names begin with {@code get} and {@code put} check their offset. Before any
 * other, {@link Region} must have checked the range.
 *
 * <p>Public, else {@link Region} would have a method of its own for each public one here, and those
 * of the second {@link RawBytes} are final.
 */
public class AddressBytes {
  private static final boolean BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;
  private static final ByteBuffer WINDOW_BASE = ByteBuffer.allocateDirect(8);

  private long address;
  private long length;
  private @Nullable ByteBuffer mapping;

  /** Apart, because the JVM may deny it. */
  private static final class Offsets {
    static final long BYTES = UNSAFE.arrayBaseOffset(byte[].class);
    static final long LONGS = UNSAFE.arrayBaseOffset(long[].class);
    static final long BUFFER_ADDRESS = ofField("address");
    static final long BUFFER_CAPACITY = ofField("capacity");

    private static long ofField(String name) {
      try {
        return UNSAFE.objectFieldOffset(Buffer.class.getDeclaredField(name));
      } catch (NoSuchFieldException e) {
        throw new ExceptionInInitializerError(e);
      }
    }
  }

  /** False where the JVM denies it, or no longer has those methods. */
  static boolean hasUnsafe() {
    try {
      UNSAFE.freeMemory(UNSAFE.allocateMemory(1));
      return true;
    } catch (UnsupportedOperationException | LinkageError e) {
      return false;
    }
  }

  /** No bytes yet. */
  AddressBytes() {}

  final void allocate(long bytes, boolean zeroed) {
    address = UNSAFE.allocateMemory(bytes);
    length = bytes;
    if (zeroed) {
      UNSAFE.setMemory(address, bytes, (byte) 0);
    }
  }

  /** Takes ownership of a direct buffer, from 0 to its limit. */
  final void own(ByteBuffer buffer) {
    address = UNSAFE.getLong(buffer, Offsets.BUFFER_ADDRESS);
    length = buffer.limit();
    mapping = buffer;
  }

  /** For a subclass that has bytes of another kind. */
  final void setLength(long bytes) {
    length = bytes;
  }

  /** 0 once released, unmapped or abandoned. */
  public final long length() {
    return length;
  }

  /** For messages and page boundaries, and for copies to and from the user's native memory. */
  long address() {
    return address;
  }

  /** The read-only buffer from which views of a mapping are sliced. */
  ByteBuffer views() {
    ByteBuffer source = mapping;
    if (source == null) {
      throw new IllegalStateException("not a mapping");
    }
    return source.isReadOnly() ? source : source.asReadOnlyBuffer();
  }

  void release() {
    long start = address;
    forget();
    UNSAFE.freeMemory(start);
  }

  /** For a mapping without views. */
  void unmap() {
    ByteBuffer unmapped = mapping;
    forget();
    if (unmapped != null) {
      unmap(unmapped);
    }
  }

  static void unmap(ByteBuffer mapping) {
    try {
      UNSAFE.invokeCleaner(mapping);
    } catch (IllegalArgumentException e) {
      // A view of other memory, which the garbage collector frees.
      return;
    }
  }

  /**
   * Leaves a mapping with views to the garbage collector.
   *
   * @return an object that is reachable while a view is
   */
  @Nullable Object abandon() {
    Object abandoned = mapping;
    forget();
    return abandoned;
  }

  private void forget() {
    length = 0;
    address = 0;
    mapping = null;
  }

  byte byteAt(long offset) {
    return UNSAFE.getByte(address + offset);
  }

  /** Little-endian. */
  long longAt(long offset) {
    return ordered(UNSAFE.getLong(address + offset));
  }

  public byte getByte(long offset) {
    check(offset, 1);
    return UNSAFE.getByte(address + offset);
  }

  public void putByte(long offset, byte value) {
    check(offset, 1);
    UNSAFE.putByte(address + offset, value);
  }

  public int getInt(long offset) {
    check(offset, 4);
    return ordered(UNSAFE.getInt(address + offset));
  }

  public void putInt(long offset, int value) {
    check(offset, 4);
    UNSAFE.putInt(address + offset, ordered(value));
  }

  public long getLong(long offset) {
    check(offset, 8);
    return ordered(UNSAFE.getLong(address + offset));
  }

  public void putLong(long offset, long value) {
    check(offset, 8);
    UNSAFE.putLong(address + offset, ordered(value));
  }

  /**
   * {@code offset} and the address of the region must be multiples of eight: not every processor
   * reads an unaligned long atomically.
   */
  public long getLongVolatile(long offset) {
    check(offset, 8);
    return ordered(UNSAFE.getLongVolatile(null, address + offset));
  }

  /** {@code offset} must be a multiple of four. */
  public int getIntVolatile(long offset) {
    check(offset, 4);
    return ordered(UNSAFE.getIntVolatile(null, address + offset));
  }

  /** A volatile read of the value also sees everything written before it. */
  public void putIntRelease(long offset, int value) {
    check(offset, 4);
    UNSAFE.putOrderedInt(null, address + offset, ordered(value));
  }

  /** As {@link #putIntRelease}; alignment as for {@link #getLongVolatile}. */
  public void putLongRelease(long offset, long value) {
    check(offset, 8);
    UNSAFE.putOrderedLong(null, address + offset, ordered(value));
  }

  /** Leaves the target alone where a page cannot be read. */
  void copyTo(byte[] target, int targetIndex, long offset, int count) {
    UNSAFE.copyMemory(null, address + offset, target, Offsets.BYTES + targetIndex, count);
  }

  /** Little-endian; leaves the target alone where a page cannot be read. */
  void copyTo(long[] target, long offset, int longs) {
    UNSAFE.copyMemory(null, address + offset, target, Offsets.LONGS, 8L * longs);
    for (int i = 0; BIG_ENDIAN && i < longs; i++) {
      target[i] = Long.reverseBytes(target[i]);
    }
  }

  void copyFrom(byte[] source, int sourceIndex, long offset, int count) {
    UNSAFE.copyMemory(source, Offsets.BYTES + sourceIndex, null, address + offset, count);
  }

  void copyFrom(AddressBytes source, long sourceOffset, long offset, long count) {
    UNSAFE.copyMemory(source.address + sourceOffset, address + offset, count);
  }

  void setAll(long offset, long count, byte value) {
    UNSAFE.setMemory(address + offset, count, value);
  }

  /** For {@link #aim}. */
  static ByteBuffer newWindow() {
    ByteBuffer window = WINDOW_BASE.slice();
    UNSAFE.putInt(window, Offsets.BUFFER_CAPACITY, Integer.MAX_VALUE);
    return window.order(ByteOrder.nativeOrder());
  }

  /**
   * Returns the window as a buffer over a range, for JDK calls that take only buffers. It must not
   * leave the classes of this package and the I/O calls of their direct callers.
   */
  ByteBuffer aim(ByteBuffer window, long offset, int count) {
    UNSAFE.putLong(window, Offsets.BUFFER_ADDRESS, address + offset);
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
}
