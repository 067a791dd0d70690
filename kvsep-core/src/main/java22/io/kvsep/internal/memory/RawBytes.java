package io.kvsep.internal.memory;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The bytes behind a {@link Region}, by {@code java.lang.foreign}, for JDK 22 and later. What the
 * methods do is documented in the version for earlier JDKs, in {@code src/main/java}.
 *
 * <p>The segment checks every access, also that it was not freed: released bytes have the empty
 * segment.
 */
class RawBytes {
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle ALIGNED_INT =
      ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();
  private static final VarHandle ALIGNED_LONG =
      ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

  private static final MemorySegment EMPTY = MemorySegment.NULL;
  private static final ByteBuffer NO_WINDOW = ByteBuffer.allocate(0);

  private MemorySegment segment;

  /**
   * The mapping, or a buffer over the memory once there is one; null if it is too long. Volatile,
   * because a thread that sees a buffer must see its address.
   */
  private volatile @Nullable ByteBuffer buffer;

  /** Where the memory is from; null for a mapping. */
  private @Nullable Slab slab;

  /** Views of the mapping keep this segment reachable, and nothing else does. */
  private @Nullable MemorySegment views;

  RawBytes(long length, boolean zeroed) {
    Slab.Piece piece = Slab.take(length);
    this.slab = piece.slab();
    this.segment = piece.memory();
    if (zeroed && !piece.slab().isNew()) {
      segment.fill((byte) 0);
    }
  }

  RawBytes(ByteBuffer mapping) {
    this.segment = MemorySegment.ofBuffer(mapping.duplicate().position(0));
    this.buffer = mapping;
  }

  public final long length() {
    return segment.byteSize();
  }

  final long address() {
    return segment.address();
  }

  final ByteBuffer views() {
    views = segment.asReadOnly();
    return views.asByteBuffer();
  }

  final void release() {
    Slab from = slab;
    MemorySegment released = segment;
    forget();
    if (from != null) {
      from.give(released);
    }
  }

  final void unmap() {
    MemorySegment unmapped = segment;
    forget();
    MappedFiles.unmap(unmapped);
  }

  final @Nullable Object abandon() {
    MemorySegment kept = views;
    forget();
    if (kept != null) {
      MappedFiles.unmapAfter(kept);
    }
    return kept;
  }

  private void forget() {
    segment = EMPTY;
    buffer = null;
    slab = null;
    views = null;
  }

  final byte byteAt(long offset) {
    return segment.get(JAVA_BYTE, offset);
  }

  final long longAt(long offset) {
    return segment.get(LONG, offset);
  }

  public final byte getByte(long offset) {
    return segment.get(JAVA_BYTE, offset);
  }

  public final void putByte(long offset, byte value) {
    segment.set(JAVA_BYTE, offset, value);
  }

  public final int getInt(long offset) {
    return segment.get(INT, offset);
  }

  public final void putInt(long offset, int value) {
    segment.set(INT, offset, value);
  }

  public final long getLong(long offset) {
    return segment.get(LONG, offset);
  }

  public final void putLong(long offset, long value) {
    segment.set(LONG, offset, value);
  }

  public final long getLongVolatile(long offset) {
    return (long) ALIGNED_LONG.getVolatile(segment, offset);
  }

  public final int getIntVolatile(long offset) {
    return (int) ALIGNED_INT.getVolatile(segment, offset);
  }

  public final void putIntRelease(long offset, int value) {
    ALIGNED_INT.setRelease(segment, offset, value);
  }

  public final void putLongRelease(long offset, long value) {
    ALIGNED_LONG.setRelease(segment, offset, value);
  }

  /** Copies to arrays by one call of the JVM each, whatever the length: {@link PageProbe}. */
  final void copyTo(byte[] target, int targetIndex, long offset, int count) {
    MemorySegment.copy(segment, JAVA_BYTE, offset, target, targetIndex, count);
  }

  final void copyTo(long[] target, long offset, int longs) {
    MemorySegment.copy(segment, LONG, offset, target, 0, longs);
  }

  final void copyFrom(byte[] source, int sourceIndex, long offset, int count) {
    MemorySegment.copy(source, sourceIndex, segment, JAVA_BYTE, offset, count);
  }

  final void copyFrom(RawBytes source, long sourceOffset, long offset, long count) {
    MemorySegment.copy(source.segment, sourceOffset, segment, offset, count);
  }

  final void setAll(long offset, long count, byte value) {
    segment.asSlice(offset, count).fill(value);
  }

  static ByteBuffer newWindow() {
    return NO_WINDOW;
  }

  /** A new buffer; where all is compiled it mostly is no object. */
  final ByteBuffer aim(ByteBuffer window, long offset, int count) {
    ByteBuffer whole = buffer;
    if (whole == null) {
      if (length() > Integer.MAX_VALUE) {
        return segment.asSlice(offset, count).asByteBuffer().order(ByteOrder.nativeOrder());
      }
      whole = segment.asByteBuffer();
      buffer = whole;
    }
    return whole.slice((int) offset, count).order(ByteOrder.nativeOrder());
  }

  final void checkRange(long offset, long count) {
    if ((offset | count) < 0 || length() - offset < count) {
      throw outOfBounds(offset, count);
    }
  }

  private IndexOutOfBoundsException outOfBounds(long offset, long count) {
    return new IndexOutOfBoundsException(
        "offset=" + offset + ", count=" + count + ", region.length=" + length());
  }
}
