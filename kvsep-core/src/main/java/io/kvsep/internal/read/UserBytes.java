package io.kvsep.internal.read;

import io.kvsep.internal.memory.Region;
import java.nio.ByteOrder;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.MappedBytes;
import org.jspecify.annotations.Nullable;

/** Copies between a user's Chronicle Bytes and regions without allocating. */
public final class UserBytes {
  private static final boolean BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;

  private UserBytes() {}

  /**
   * Copies what lies between read position and limit of {@code source}.
   *
   * @throws InternalError as Java does for a page of a user's mapping that cannot be read
   * @throws IllegalStateException when the source was released
   */
  public static void copy(BytesStore<?, ?> source, Region target, long targetOffset) {
    requireHeld(source);
    long from = source.readPosition();
    long count = source.readRemaining();
    if (isContiguous(source)) {
      target.putNative(targetOffset, source.addressForRead(from), count);
      return;
    }
    long i = 0;
    for (; i + 8 <= count; i += 8) {
      target.putLong(targetOffset + i, ordered(source.readLong(from + i)));
    }
    for (; i < count; i++) {
      target.putByte(targetOffset + i, source.readByte(from + i));
    }
    if (source instanceof MappedBytes) {
      Region.requirePagesRead();
    }
  }

  /** From the order of a region's longs, little-endian, to that of Chronicle's, or back. */
  private static long ordered(long value) {
    return BIG_ENDIAN ? Long.reverseBytes(value) : value;
  }

  /**
   * Whether the bytes lie behind one another off-heap; those of a mapped file may lie in chunks.
   */
  private static boolean isContiguous(BytesStore<?, ?> bytes) {
    return bytes.isDirectMemory() && !(bytes instanceof MappedBytes);
  }

  /** The array that these bytes are from its first to its last; null if they are none. */
  private static byte @Nullable [] wholeArray(@Nullable BytesStore<?, ?> bytes) {
    return bytes != null
            && bytes.underlyingObject() instanceof byte[] array
            && bytes.start() == 0
            && bytes.realCapacity() == array.length
        ? array
        : null;
  }

  /**
   * Refuses bytes whose memory is gone. Chronicle's own access does, but tells their former address
   * all the same.
   */
  private static void requireHeld(BytesStore<?, ?> bytes) {
    if (bytes.refCount() <= 0) {
      throw new IllegalStateException("the bytes were released");
    }
  }

  /**
   * Appends a range of {@code source} at the write position of {@code target}.
   *
   * @throws IllegalStateException when the target was released
   */
  static void append(Region source, long offset, int count, Bytes<?> target) {
    requireHeld(target);
    target.ensureCapacity(target.writePosition() + count);
    long position = target.writePosition();
    if (isContiguous(target)) {
      target.writeSkip(count);
      source.getNative(offset, target.addressForWrite(position), count);
      return;
    }
    byte[] array = wholeArray(target.bytesStore());
    if (array != null) {
      target.writeSkip(count);
      source.get(offset, array, Math.toIntExact(position), count);
      return;
    }
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      target.writeLong(ordered(source.getLong(offset + i)));
    }
    for (; i < count; i++) {
      target.writeByte(source.getByte(offset + i));
    }
  }
}
