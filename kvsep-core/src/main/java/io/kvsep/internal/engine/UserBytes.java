package io.kvsep.internal.engine;

import io.kvsep.internal.memory.Region;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;

/** Copies between a user's Chronicle Bytes and regions without allocating. */
final class UserBytes {
  private UserBytes() {}

  /** Copies what lies between read position and limit of {@code source}. */
  static void copy(BytesStore<?, ?> source, Region target, long targetOffset) {
    long from = source.readPosition();
    long count = source.readRemaining();
    if (source.isDirectMemory()) {
      target.putNative(targetOffset, source.addressForRead(from), count);
      return;
    }
    long i = 0;
    for (; i + 8 <= count; i += 8) {
      target.putLong(targetOffset + i, source.readLong(from + i));
    }
    for (; i < count; i++) {
      target.putByte(targetOffset + i, source.readByte(from + i));
    }
  }

  /** Appends a range of {@code source} at the write position of {@code target}. */
  static void append(Region source, long offset, int count, Bytes<?> target) {
    target.ensureCapacity(target.writePosition() + count);
    long position = target.writePosition();
    if (target.isDirectMemory()) {
      target.writeSkip(count);
      source.getNative(offset, target.addressForWrite(position), count);
      return;
    }
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      target.writeLong(source.getLong(offset + i));
    }
    for (; i < count; i++) {
      target.writeByte(source.getByte(offset + i));
    }
  }
}
