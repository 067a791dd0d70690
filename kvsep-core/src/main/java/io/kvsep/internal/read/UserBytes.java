package io.kvsep.internal.read;

import io.kvsep.internal.memory.Region;
import java.nio.ByteOrder;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.MappedBytes;
import org.jspecify.annotations.Nullable;

/** Copies between Chronicle Bytes and regions, without allocating. */
public final class UserBytes {
  private static final boolean BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;

  private UserBytes() {}

  /**
   * Copies the readable bytes of {@code source}.
   *
   * @throws InternalError from Java if a page of a mapping cannot be read
   * @throws IllegalStateException if the source was released
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

  /** Between a region's little-endian order and Chronicle's native one. */
  private static long ordered(long value) {
    return BIG_ENDIAN ? Long.reverseBytes(value) : value;
  }

  /** Bytes of a mapped file may be in chunks. */
  private static boolean isContiguous(BytesStore<?, ?> bytes) {
    return bytes.isDirectMemory() && !(bytes instanceof MappedBytes);
  }

  private static byte @Nullable [] wholeArray(@Nullable BytesStore<?, ?> bytes) {
    return bytes != null
            && bytes.underlyingObject() instanceof byte[] array
            && bytes.start() == 0
            && bytes.realCapacity() == array.length
        ? array
        : null;
  }

  /** Refuses released bytes. Chronicle still returns their former address. */
  private static void requireHeld(BytesStore<?, ?> bytes) {
    if (bytes.refCount() <= 0) {
      throw new IllegalStateException("the bytes were released");
    }
  }

  /**
   * Appends a range of {@code source} at the write position of {@code target}.
   *
   * @throws IllegalStateException if the target was released
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
