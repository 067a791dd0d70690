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
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Reads a backup in {@link BackupFormat} and nothing after it. Checks each block before it returns
 * any of it; {@link #next} returns false only at the end of a complete backup. Uses memory for one
 * block and one value. Not thread safe.
 */
final class BackupReader {
  private static final byte[] NONE = {};

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

  /** Ids by name; {@link #ids} has them for a lookup per record. */
  private final SortedMap<String, Integer> keyspaces = new TreeMap<>();

  private final Set<Integer> ids = new HashSet<>();

  // The current record.
  private int kind;
  private byte[] key = NONE;
  private byte[] value = NONE;
  private long expiresAtMillis;

  /**
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

  /** False after the last record. */
  boolean next() throws IOException {
    if (!hasMore()) {
      return false;
    }
    int found = nextByte() & 0xff;
    if (found < BackupFormat.KEYSPACE || found > BackupFormat.EXPIRING) {
      throw damage("the kind of a record", "kind " + found);
    }
    // Deletes and puts are mixed.
    if (Math.min(found, BackupFormat.DELETE) < Math.min(kind, BackupFormat.DELETE)) {
      throw damage("records in order", "kind " + found + " behind entries or ranges");
    }
    kind = found;
    records++;
    read();
    return true;
  }

  /** One of the kinds in {@link BackupFormat}. */
  int kind() {
    return kind;
  }

  /** Complete at the first record of another kind. */
  SortedMap<String, Integer> keyspaces() {
    return keyspaces;
  }

  /** The stored key, or the inclusive start of a range. */
  byte[] key() {
    return key;
  }

  /** The value, or the exclusive end of a range. */
  byte[] value() {
    return value;
  }

  long expiresAtMillis() {
    return expiresAtMillis;
  }

  private void read() throws IOException {
    switch (kind) {
      case BackupFormat.KEYSPACE -> addKeyspace();
      case BackupFormat.RANGE -> {
        key = storedKey();
        value = bytes(1, Limits.STORED_KEY_BYTES_MAX);
        byte[] end = Keyspaces.end(Keyspaces.of(key));
        if (Arrays.compareUnsigned(key, value) >= 0 || Arrays.compareUnsigned(value, end) > 0) {
          throw damage("a range of one keyspace", "another one");
        }
      }
      case BackupFormat.DELETE -> {
        key = storedKey();
        value = NONE;
      }
      default -> {
        key = storedKey();
        int userKeyLength = key.length - Keyspaces.prefixLength(Keyspaces.of(key));
        if (userKeyLength == 0 || userKeyLength > Limits.KEY_BYTES_MAX) {
          throw damage(
              "a key of 1 to " + Limits.KEY_BYTES_MAX + " bytes", userKeyLength + " bytes");
        }
        expiresAtMillis = kind == BackupFormat.EXPIRING ? expiry() : SnapshotCursor.NEVER;
        value = take(number(Limits.VALUE_BYTES_MAX));
      }
    }
  }

  private void addKeyspace() throws IOException {
    int id = number(Keyspaces.ID_MAX);
    if (id <= Keyspaces.DEFAULT) {
      throw damage("the id of a keyspace", "id " + id);
    }
    String name = name();
    if (!ids.add(id) || keyspaces.put(name, id) != null) {
      throw damage("each keyspace once", "keyspace " + id + ", " + name);
    }
  }

  private long expiry() throws IOException {
    long expiry = 0;
    for (int i = 0; i < Long.BYTES; i++) {
      expiry |= (nextByte() & 0xffL) << (8 * i);
    }
    if (expiry <= 0) {
      throw damage("a moment after 1970", expiry + " ms");
    }
    return expiry;
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
    byte[] stored = bytes(1, Limits.STORED_KEY_BYTES_MAX);
    int id = Keyspaces.of(stored);
    if (id < 0) {
      throw damage("the key of a keyspace", "a key of none");
    }
    if (id != Keyspaces.DEFAULT && !ids.contains(id)) {
      throw damage("a keyspace with a name", "keyspace " + id);
    }
    return stored;
  }

  private byte[] bytes(int least, int most) throws IOException {
    int length = number(most);
    if (length < least) {
      throw damage(least + " to " + most + " bytes", length + " bytes");
    }
    return take(length);
  }

  private byte[] take(int length) throws IOException {
    // Grows with what was read, because the length is not trusted.
    byte[] bytes = new byte[Math.min(length, BackupFormat.BLOCK_BYTES_MAX)];
    for (int done = 0; done < length; ) {
      require();
      if (done == bytes.length) {
        bytes = Arrays.copyOf(bytes, (int) Math.min(length, 2L * done));
      }
      int count = Math.min(bytes.length - done, limit - position);
      System.arraycopy(block, position, bytes, done, count);
      position += count;
      done += count;
    }
    return bytes;
  }

  private int number(long most) throws IOException {
    long value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      byte next = nextByte();
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

  private byte nextByte() throws IOException {
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

  private CorruptionException damage(String expected, String found) {
    return new CorruptionException(BackupFormat.NAME, blockOffset, expected, found);
  }
}
