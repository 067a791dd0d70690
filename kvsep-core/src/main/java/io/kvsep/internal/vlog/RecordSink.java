package io.kvsep.internal.vlog;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Writes records one after the other, either into memory that grows, or through a fixed amount of
 * memory straight into a file. Not thread safe.
 */
final class RecordSink {
  /** Most bytes written between two calls of {@link #room}. */
  private static final int RUN_BYTES_MAX = 32;

  private final GrowingRegion memory;
  private final NativeWindow window = new NativeWindow();
  private final NativeWindow fileWindow = new NativeWindow();
  private long length;
  private long crcStart;

  /** Where spilled bytes go; null while everything stays in memory. */
  private @Nullable StorageFile file;

  private long filePosition;
  private long memoryLimit;

  RecordSink(GrowingRegion memory) {
    this.memory = memory;
  }

  /** Everything from now on goes to memory, from {@code start} on. */
  void toMemory(long start) {
    file = null;
    length = start;
    memoryLimit = Long.MAX_VALUE;
  }

  /** Everything from now on goes to {@code target} at {@code position} on, through the memory. */
  void toFile(StorageFile target, long position, long bufferBytes) {
    file = target;
    filePosition = position;
    length = 0;
    memoryLimit = bufferBytes;
    memory.ensure(bufferBytes);
  }

  /** Bytes in memory. */
  long length() {
    return length;
  }

  /** Where in the file the next byte goes. */
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

  void putVarint(long value) throws IOException {
    length = Varint.put(room(RUN_BYTES_MAX), length, value);
  }

  void putLong(long value) throws IOException {
    room(8).putLong(length, value);
    length += 8;
  }

  /**
   * Everything of a record in front of its key.
   *
   * @param kind without the flag of compression
   * @param valueLength of the value as given; of no meaning for a delete
   * @param stored bytes of the compressed value, -1 where it is not compressed
   */
  void putHeader(int kind, int storedKeyLength, int valueLength, int stored, long expiresAtMillis)
      throws IOException {
    putByte(stored >= 0 ? kind | LogFormat.LZ4 : kind);
    putVarint(storedKeyLength);
    if (kind != Tag.DELETE) {
      putVarint(stored >= 0 ? stored : valueLength);
      if (stored >= 0) {
        putVarint(valueLength);
      }
    }
    if (Tag.expires(kind)) {
      putLong(expiresAtMillis);
    }
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

  /** Makes room for {@code count} bytes that the caller writes itself at {@link #length}. */
  Region reserve(int count) throws IOException {
    return room(count);
  }

  void advance(int count) {
    length += count;
  }

  /** Ends the record with its checksum, xored with {@code place}. */
  void end(int place) throws IOException {
    Region region = room(LogFormat.CRC_BYTES);
    int crc = window.crc32cMore(region, crcStart, length - crcStart);
    region.putInt(length, crc ^ place);
    length += LogFormat.CRC_BYTES;
  }

  /** Writes what is still in memory to the file. */
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
    return memory.ensure(length + count);
  }
}
