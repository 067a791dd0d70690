package io.kvsep.server.cli;

import io.kvsep.server.cli.EntryFile.BadEntryException;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Binary entries, one after the other: length of the key and length of the value, each four bytes
 * big-endian, then key and value.
 */
final class BinaryEntries implements EntryFile {
  private static final int VALUE_BYTES_MAX = 1 << 30;

  private final DataInputStream input;
  private long count;

  /**
   * @param input should be buffered; it is read in small pieces
   */
  BinaryEntries(InputStream input) {
    this.input = new DataInputStream(input);
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    int first = input.read();
    if (first < 0) {
      return null;
    }
    count++;
    try {
      int keyLength = first << 24 | input.readUnsignedByte() << 16 | input.readUnsignedShort();
      int valueLength = input.readInt();
      if (keyLength < 1
          || keyLength > KEY_BYTES_MAX
          || valueLength < 0
          || valueLength > VALUE_BYTES_MAX) {
        throw new IOException(
            where() + ": no lengths of a key and a value: " + keyLength + ", " + valueLength);
      }
      return Map.entry(read(keyLength), read(valueLength));
    } catch (EOFException e) {
      throw new IOException(where() + ": the file ends in the middle of it", e);
    }
  }

  private byte[] read(int length) throws IOException {
    byte[] bytes = input.readNBytes(length);
    if (bytes.length < length) {
      throw new EOFException();
    }
    return bytes;
  }

  private String where() {
    return "entry " + count;
  }
}
