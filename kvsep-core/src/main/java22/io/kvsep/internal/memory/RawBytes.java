package io.kvsep.internal.memory;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The bytes behind a {@link Region}, by {@code java.lang.foreign} or by addresses, for JDK 22 and
 * later. What the methods do is documented in {@link AddressBytes}.
 *
 * <p>A segment checks every access, also that it was not freed: released bytes have the empty
 * segment.
 */
class RawBytes extends AddressBytes {
  /**
   * Whether memory is reached by {@code java.lang.foreign}: by {@code sun.misc.Unsafe} it is faster
   * but the JVM denies it or prints a warning, unless allowed.
   */
  private static final boolean FOREIGN = !mayUseUnsafe();

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle ALIGNED_INT =
      ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();
  private static final VarHandle ALIGNED_LONG =
      ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

  /** From this JDK on the first use of {@code sun.misc.Unsafe} prints a warning. */
  private static final int WARNING_FEATURE = 24;

  private static final MemorySegment EMPTY = MemorySegment.NULL;
  private static final ByteBuffer NO_WINDOW = ByteBuffer.allocate(0);

  private MemorySegment segment = EMPTY;

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
    if (!FOREIGN) {
      allocate(length, zeroed);
      return;
    }
    Slab.Piece piece = Slab.take(length);
    slab = piece.slab();
    segment = piece.memory();
    setLength(length);
    if (zeroed && !piece.slab().isNew()) {
      segment.fill((byte) 0);
    }
  }

  RawBytes(ByteBuffer mapping) {
    if (!FOREIGN) {
      own(mapping);
      return;
    }
    segment = MemorySegment.ofBuffer(mapping.duplicate().position(0));
    setLength(segment.byteSize());
    buffer = mapping;
  }

  static boolean isForeign() {
    return FOREIGN;
  }

  private static boolean mayUseUnsafe() {
    String access = System.getProperty("sun.misc.unsafe.memory.access");
    boolean allowed =
        access == null ? Runtime.version().feature() < WARNING_FEATURE : access.equals("allow");
    return allowed && hasUnsafe();
  }

  @Override
  final long address() {
    return FOREIGN ? segment.address() : super.address();
  }

  @Override
  final ByteBuffer views() {
    if (!FOREIGN) {
      return super.views();
    }
    views = segment.asReadOnly();
    return views.asByteBuffer();
  }

  @Override
  final void release() {
    if (!FOREIGN) {
      super.release();
      return;
    }
    Slab from = slab;
    MemorySegment released = segment;
    forgetSegment();
    if (from != null) {
      from.give(released);
    }
  }

  @Override
  final void unmap() {
    if (!FOREIGN) {
      super.unmap();
      return;
    }
    MemorySegment unmapped = segment;
    forgetSegment();
    MappedFiles.unmap(unmapped);
  }

  @Override
  final @Nullable Object abandon() {
    if (!FOREIGN) {
      return super.abandon();
    }
    MemorySegment kept = views;
    forgetSegment();
    if (kept != null) {
      MappedFiles.unmapAfter(kept);
    }
    return kept;
  }

  private void forgetSegment() {
    setLength(0);
    segment = EMPTY;
    buffer = null;
    slab = null;
    views = null;
  }

  @Override
  final byte byteAt(long offset) {
    return FOREIGN ? segment.get(JAVA_BYTE, offset) : super.byteAt(offset);
  }

  @Override
  final long longAt(long offset) {
    return FOREIGN ? segment.get(LONG, offset) : super.longAt(offset);
  }

  @Override
  public final byte getByte(long offset) {
    return FOREIGN ? segment.get(JAVA_BYTE, offset) : super.getByte(offset);
  }

  @Override
  public final void putByte(long offset, byte value) {
    if (FOREIGN) {
      segment.set(JAVA_BYTE, offset, value);
    } else {
      super.putByte(offset, value);
    }
  }

  @Override
  public final int getInt(long offset) {
    return FOREIGN ? segment.get(INT, offset) : super.getInt(offset);
  }

  @Override
  public final void putInt(long offset, int value) {
    if (FOREIGN) {
      segment.set(INT, offset, value);
    } else {
      super.putInt(offset, value);
    }
  }

  @Override
  public final long getLong(long offset) {
    return FOREIGN ? segment.get(LONG, offset) : super.getLong(offset);
  }

  @Override
  public final void putLong(long offset, long value) {
    if (FOREIGN) {
      segment.set(LONG, offset, value);
    } else {
      super.putLong(offset, value);
    }
  }

  @Override
  public final long getLongVolatile(long offset) {
    return FOREIGN
        ? (long) ALIGNED_LONG.getVolatile(segment, offset)
        : super.getLongVolatile(offset);
  }

  @Override
  public final int getIntVolatile(long offset) {
    return FOREIGN ? (int) ALIGNED_INT.getVolatile(segment, offset) : super.getIntVolatile(offset);
  }

  @Override
  public final void putIntRelease(long offset, int value) {
    if (FOREIGN) {
      ALIGNED_INT.setRelease(segment, offset, value);
    } else {
      super.putIntRelease(offset, value);
    }
  }

  @Override
  public final void putLongRelease(long offset, long value) {
    if (FOREIGN) {
      ALIGNED_LONG.setRelease(segment, offset, value);
    } else {
      super.putLongRelease(offset, value);
    }
  }

  /** Copies to arrays by one call of the JVM each, whatever the length: {@link PageProbe}. */
  @Override
  final void copyTo(byte[] target, int targetIndex, long offset, int count) {
    if (FOREIGN) {
      MemorySegment.copy(segment, JAVA_BYTE, offset, target, targetIndex, count);
    } else {
      super.copyTo(target, targetIndex, offset, count);
    }
  }

  @Override
  final void copyTo(long[] target, long offset, int longs) {
    if (FOREIGN) {
      MemorySegment.copy(segment, LONG, offset, target, 0, longs);
    } else {
      super.copyTo(target, offset, longs);
    }
  }

  @Override
  final void copyFrom(byte[] source, int sourceIndex, long offset, int count) {
    if (FOREIGN) {
      MemorySegment.copy(source, sourceIndex, segment, JAVA_BYTE, offset, count);
    } else {
      super.copyFrom(source, sourceIndex, offset, count);
    }
  }

  @Override
  final void copyFrom(AddressBytes source, long sourceOffset, long offset, long count) {
    if (FOREIGN) {
      MemorySegment.copy(((RawBytes) source).segment, sourceOffset, segment, offset, count);
    } else {
      super.copyFrom(source, sourceOffset, offset, count);
    }
  }

  @Override
  final void setAll(long offset, long count, byte value) {
    if (FOREIGN) {
      segment.asSlice(offset, count).fill(value);
    } else {
      super.setAll(offset, count, value);
    }
  }

  static ByteBuffer newWindow() {
    return FOREIGN ? NO_WINDOW : AddressBytes.newWindow();
  }

  /** A new buffer; where all is compiled it mostly is no object. */
  @Override
  final ByteBuffer aim(ByteBuffer window, long offset, int count) {
    if (!FOREIGN) {
      return super.aim(window, offset, count);
    }
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
}
