package io.kvsep.internal.backup;

import io.kvsep.internal.backup.BackupFormat.Header;
import io.kvsep.internal.read.SnapshotCursor;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Writes a backup in {@link BackupFormat}. Not thread safe. */
final class BackupWriter {
  private final OutputStream output;

  /** The current block, including its header. */
  private final byte[] block = new byte[BackupFormat.BLOCK_HEADER_BYTES + BackupFormat.BLOCK_BYTES];

  private int used = BackupFormat.BLOCK_HEADER_BYTES;
  private int chain;
  private long records;
  private long payloadBytes;

  BackupWriter(OutputStream output, Header header) throws IOException {
    this.output = output;
    byte[] encoded = BackupFormat.encode(header);
    chain = BackupFormat.crc(encoded, encoded.length);
    output.write(encoded);
  }

  void keyspace(int id, String name) throws IOException {
    begin(BackupFormat.KEYSPACE);
    number(id);
    bytes(name.getBytes(StandardCharsets.UTF_8));
  }

  void range(byte[] from, byte[] to) throws IOException {
    begin(BackupFormat.RANGE);
    bytes(from);
    bytes(to);
  }

  void delete(byte[] storedKey) throws IOException {
    begin(BackupFormat.DELETE);
    bytes(storedKey);
  }

  /**
   * @param expiresAtMillis {@link SnapshotCursor#NEVER} for no expiry
   */
  void put(byte[] storedKey, long expiresAtMillis, ByteBuffer value) throws IOException {
    boolean expires = expiresAtMillis != SnapshotCursor.NEVER;
    begin(expires ? BackupFormat.EXPIRING : BackupFormat.PUT);
    bytes(storedKey);
    if (expires) {
      for (int i = 0; i < Long.BYTES; i++) {
        put((byte) (expiresAtMillis >>> (8 * i)));
      }
    }
    number(value.remaining());
    while (value.hasRemaining()) {
      makeRoom();
      int count = Math.min(value.remaining(), block.length - used);
      value.get(block, used, count);
      used += count;
    }
  }

  /** Ends the backup and flushes the stream. */
  void finish() throws IOException {
    writeBlock();
    byte[] bytes = new byte[BackupFormat.TRAILER_BYTES];
    ByteBuffer trailer = BackupFormat.buffer(bytes);
    trailer.putLong(8, records).putLong(16, payloadBytes);
    trailer.putInt(4, BackupFormat.chained(chain, bytes, bytes.length));
    output.write(bytes);
    output.flush();
  }

  private void begin(int kind) throws IOException {
    records++;
    put((byte) kind);
  }

  private void bytes(byte[] bytes) throws IOException {
    number(bytes.length);
    for (int done = 0; done < bytes.length; ) {
      makeRoom();
      int count = Math.min(bytes.length - done, block.length - used);
      System.arraycopy(bytes, done, block, used, count);
      used += count;
      done += count;
    }
  }

  private void number(int value) throws IOException {
    int rest = value;
    while (rest > 0x7f) {
      put((byte) (rest | 0x80));
      rest >>>= 7;
    }
    put((byte) rest);
  }

  private void put(byte value) throws IOException {
    makeRoom();
    block[used++] = value;
  }

  private void makeRoom() throws IOException {
    if (used == block.length) {
      writeBlock();
    }
  }

  private void writeBlock() throws IOException {
    int length = used - BackupFormat.BLOCK_HEADER_BYTES;
    if (length == 0) {
      return;
    }
    ByteBuffer header = BackupFormat.buffer(block);
    header.putInt(0, length);
    chain = BackupFormat.chained(chain, block, used);
    header.putInt(4, chain);
    output.write(block, 0, used);
    payloadBytes += length;
    used = BackupFormat.BLOCK_HEADER_BYTES;
  }
}
