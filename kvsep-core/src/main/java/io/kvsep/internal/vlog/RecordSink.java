package io.kvsep.internal.vlog;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Writes records to growing memory, or through a fixed buffer to a file. Not thread safe. */
final class RecordSink {
  /** Kind, three varints and expiry. */
  private static final int HEADER_BYTES_MAX = 24;

  private final GrowingRegion memory;
  private final NativeWindow window = new NativeWindow();
  private final NativeWindow fileWindow = new NativeWindow();
  private long length;
  private long crcStart;

  /** Null while writing to memory. */
  private @Nullable StorageFile file;

  private long filePosition;
  private long memoryLimit;

  /** Region of {@link #memory}; null before the first start. */
  private @Nullable Region region;

  private long capacity;

  RecordSink(GrowingRegion memory) {
    this.memory = memory;
  }

  /**
   * @param bytes upper bound of the length; more makes the memory grow
   */
  void toMemory(long start, long bytes) {
    file = null;
    length = start;
    memoryLimit = Long.MAX_VALUE;
    ensure(bytes);
  }

  void toFile(StorageFile target, long position, long bufferBytes) {
    file = target;
    filePosition = position;
    length = 0;
    memoryLimit = bufferBytes;
    ensure(bufferBytes);
  }

  private Region ensure(long bytes) {
    Region ensured = memory.ensure(bytes);
    region = ensured;
    capacity = ensured.length();
    return ensured;
  }

  /** Bytes in memory. */
  long length() {
    return length;
  }

  /** File offset of the next byte. */
  long filePosition() {
    return filePosition + length;
  }

  void begin() {
    crcStart = length;
    window.crc32cReset();
  }

  void putByte(int value) throws IOException {
    room(1).putByte(length, (byte) value);
    length++;
  }

  /**
   * Writes the fields before the key.
   *
   * @param kind without the LZ4 flag
   * @param valueLength of the uncompressed value; ignored for a delete
   * @param stored length of the compressed value, -1 if it is not compressed
   */
  void putHeader(int kind, int storedKeyLength, int valueLength, int stored, long expiresAtMillis)
      throws IOException {
    Region target = room(HEADER_BYTES_MAX);
    target.putByte(length, (byte) (stored >= 0 ? kind | LogFormat.LZ4 : kind));
    long at = Varint.put(target, length + 1, storedKeyLength);
    if (kind != Tag.DELETE) {
      at = Varint.put(target, at, stored >= 0 ? stored : valueLength);
      if (stored >= 0) {
        at = Varint.put(target, at, valueLength);
      }
    }
    if (Tag.expires(kind)) {
      target.putLong(at, expiresAtMillis);
      at += 8;
    }
    length = at;
  }

  void put(byte[] source, int index, int count) throws IOException {
    int from = index;
    int rest = count;
    while (rest > 0) {
      int step = file == null ? rest : (int) Math.min(rest, Math.max(1, memoryLimit - length));
      room(step).put(length, source, from, step);
      length += step;
      from += step;
      rest -= step;
    }
  }

  void put(Region source, long offset, int count) throws IOException {
    room(count).put(length, source, offset, count);
    length += count;
  }

  /** Returns memory for {@code count} bytes at {@link #length}. */
  Region reserve(int count) throws IOException {
    return room(count);
  }

  void advance(int count) {
    length += count;
  }

  /** Ends the record with its checksum, xored with {@code place}; returns it without place. */
  int end(int place) throws IOException {
    Region target = room(LogFormat.CRC_BYTES);
    int crc = window.crc32cMore(target, crcStart, length - crcStart);
    target.putInt(length, crc ^ place);
    length += LogFormat.CRC_BYTES;
    return crc;
  }

  void flush() throws IOException {
    if (file != null && length > 0) {
      Region region = memory.region();
      if (length > crcStart) {
        window.crc32cMore(region, crcStart, length - crcStart);
      }
      file.write(fileWindow.over(region, 0, (int) length), filePosition);
      filePosition += length;
      length = 0;
      crcStart = 0;
    }
  }

  private Region room(int count) throws IOException {
    if (count > memoryLimit - length) {
      flush();
    }
    Region current = region;
    return current != null && count <= capacity - length ? current : ensure(length + count);
  }
}
