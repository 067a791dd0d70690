package io.kvsep.internal.backup;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.backup.BackupFormat.Header;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.read.SnapshotCursor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Reads a backup in {@link BackupFormat}. Every block is checked before any of it is returned, and
 * {@link #readAll} returns only if the backup is complete. Reads nothing after its end. Uses at
 * most the memory of the longest value. Not thread safe.
 */
final class BackupReader {
  interface Sink {
    void keyspace(int id, String name);

    void range(byte[] from, byte[] to);

    void delete(byte[] storedKey);

    /** Whether to read values; if not, they are checked and passed as empty. */
    boolean wantsValues();

    void put(byte[] storedKey, long expiresAtMillis, byte[] value);
  }

  private final InputStream input;
  private final Runnable pulse;
  private final Header header;
  private byte[] block = new byte[BackupFormat.BLOCK_HEADER_BYTES + BackupFormat.BLOCK_BYTES];
  private int position;
  private int limit;
  private int chain;
  private boolean ended;

  private long blockOffset;

  private long nextOffset;
  private long records;
  private long payloadBytes;

  /**
   * Reads the header.
   *
   * @param pulse called often; may throw
   */
  BackupReader(InputStream input, Runnable pulse) throws IOException {
    this.input = input;
    this.pulse = pulse;
    byte[] encoded = new byte[BackupFormat.HEADER_BYTES];
    // Eight bytes first, to distinguish a shorter foreign file from a truncated backup.
    fill(encoded, 0, Long.BYTES);
    if (BackupFormat.buffer(encoded).getLong() != BackupFormat.MAGIC) {
      input.readNBytes(encoded, Long.BYTES, encoded.length - Long.BYTES);
      throw BackupFormat.otherMagic(encoded);
    }
    fill(encoded, Long.BYTES, encoded.length - Long.BYTES);
    header = BackupFormat.header(encoded);
    chain = BackupFormat.crc(encoded, encoded.length);
  }

  Header header() {
    return header;
  }

  /** Passes all records to {@code sink}; called once. */
  void readAll(Sink sink) throws IOException {
    int last = 0;
    while (hasMore()) {
      int kind = next() & 0xff;
      if (kind < BackupFormat.KEYSPACE || kind > BackupFormat.EXPIRING) {
        throw damage("the kind of a record", "kind " + kind);
      }
      if (Math.min(kind, BackupFormat.DELETE) < last) {
        throw damage("records in order", "kind " + kind + " behind entries or ranges");
      }
      last = Math.min(kind, BackupFormat.DELETE);
      records++;
      read(kind, sink);
    }
  }

  private void read(int kind, Sink sink) throws IOException {
    switch (kind) {
      case BackupFormat.KEYSPACE -> {
        int id = number(Keyspaces.ID_MAX);
        if (id <= Keyspaces.DEFAULT) {
          throw damage("the id of a keyspace", "id " + id);
        }
        sink.keyspace(id, name());
      }
      case BackupFormat.RANGE -> sink.range(storedKey(), bytes(1, Limits.STORED_KEY_BYTES_MAX));
      case BackupFormat.DELETE -> sink.delete(storedKey());
      default -> {
        byte[] key = storedKey();
        int userKeyLength = key.length - Keyspaces.prefixLength(Keyspaces.of(key));
        if (userKeyLength == 0 || userKeyLength > Limits.KEY_BYTES_MAX) {
          throw damage(
              "a key of 1 to " + Limits.KEY_BYTES_MAX + " bytes", userKeyLength + " bytes");
        }
        long expiry = SnapshotCursor.NEVER;
        if (kind == BackupFormat.EXPIRING) {
          expiry = 0;
          for (int i = 0; i < Long.BYTES; i++) {
            expiry |= (next() & 0xffL) << (8 * i);
          }
          if (expiry <= 0) {
            throw damage("a moment after 1970", expiry + " ms");
          }
        }
        int length = number(Limits.VALUE_BYTES_MAX);
        if (sink.wantsValues()) {
          sink.put(key, expiry, take(length));
        } else {
          skip(length);
          sink.put(key, expiry, new byte[0]);
        }
      }
    }
  }

  private String name() throws IOException {
    byte[] name = bytes(1, Limits.KEYSPACE_NAME_BYTES_MAX);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(name)).toString();
    } catch (CharacterCodingException e) {
      throw damage("a name in UTF-8", "bytes that are none");
    }
  }

  private byte[] storedKey() throws IOException {
    byte[] key = bytes(1, Limits.STORED_KEY_BYTES_MAX);
    if (Keyspaces.of(key) < 0) {
      throw damage("the key of a keyspace", "a key of none");
    }
    return key;
  }

  private byte[] bytes(int least, int most) throws IOException {
    int length = number(most);
    if (length < least) {
      throw damage(least + " to " + most + " bytes", length + " bytes");
    }
    return take(length);
  }

  private byte[] take(int length) throws IOException {
    byte[] bytes = new byte[length];
    for (int done = 0; done < length; ) {
      require();
      int count = Math.min(length - done, limit - position);
      System.arraycopy(block, position, bytes, done, count);
      position += count;
      done += count;
    }
    return bytes;
  }

  private void skip(int length) throws IOException {
    for (int left = length; left > 0; ) {
      require();
      int count = Math.min(left, limit - position);
      position += count;
      left -= count;
    }
  }

  private int number(long most) throws IOException {
    long value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      byte next = next();
      value |= (next & 0x7fL) << shift;
      if (next >= 0) {
        if (value <= most) {
          return (int) value;
        }
        break;
      }
    }
    throw damage("a number up to " + most, "another one");
  }

  private byte next() throws IOException {
    require();
    return block[position++];
  }

  private void require() throws IOException {
    if (!hasMore()) {
      throw damage("the rest of a record", "the end of the records");
    }
  }

  private boolean hasMore() throws IOException {
    while (position == limit && !ended) {
      readBlock();
    }
    return position < limit;
  }

  private void readBlock() throws IOException {
    pulse.run();
    blockOffset = nextOffset;
    fill(block, 0, BackupFormat.BLOCK_HEADER_BYTES);
    ByteBuffer head = BackupFormat.buffer(block);
    int length = head.getInt(0);
    int stored = head.getInt(4);
    if (length < 0 || length > BackupFormat.BLOCK_BYTES_MAX) {
      throw damage("a block of at most " + BackupFormat.BLOCK_BYTES_MAX + " bytes", "" + length);
    }
    ended = length == 0;
    int whole = ended ? BackupFormat.TRAILER_BYTES : BackupFormat.BLOCK_HEADER_BYTES + length;
    if (whole > block.length) {
      byte[] longer = new byte[whole];
      System.arraycopy(block, 0, longer, 0, BackupFormat.BLOCK_HEADER_BYTES);
      block = longer;
    }
    fill(block, BackupFormat.BLOCK_HEADER_BYTES, whole - BackupFormat.BLOCK_HEADER_BYTES);
    chain = BackupFormat.chained(chain, block, whole);
    if (chain != stored) {
      throw damage(BackupFormat.hex(chain), BackupFormat.hex(stored));
    }
    position = ended ? 0 : BackupFormat.BLOCK_HEADER_BYTES;
    limit = ended ? 0 : whole;
    payloadBytes += length;
    if (ended) {
      ByteBuffer trailer = BackupFormat.buffer(block);
      if (trailer.getLong(8) != records || trailer.getLong(16) != payloadBytes) {
        throw damage(
            trailer.getLong(8) + " records in " + trailer.getLong(16) + " bytes",
            records + " in " + payloadBytes);
      }
    }
  }

  private void fill(byte[] target, int from, int count) throws IOException {
    int read = input.readNBytes(target, from, count);
    nextOffset += read;
    if (read < count) {
      throw new CorruptionException(
          BackupFormat.NAME, nextOffset, "the rest of the backup", "the end of the stream");
    }
  }

  /** An error in the last record read. */
  CorruptionException damage(String expected, String found) {
    return new CorruptionException(BackupFormat.NAME, blockOffset, expected, found);
  }
}
