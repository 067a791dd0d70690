package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.util.Arrays;

/**
 * Builds one data block at a time in a reused buffer, see {@link TableFormat}. The caller ensures
 * the order of the entries. Not thread safe.
 */
final class BlockBuilder implements AutoCloseable {
  private final GrowingRegion block;
  private final int restartInterval;
  private int[] restarts = new int[64];
  private int restartCount;
  private int entriesSinceRestart;
  private int position;

  BlockBuilder(int restartInterval, MemoryLedger ledger) {
    this.restartInterval = restartInterval;
    this.block = new GrowingRegion(ledger, MemoryPurpose.TABLE_BUILD);
  }

  boolean isEmpty() {
    return restartCount == 0;
  }

  /** Length of the block if it ended here. */
  long bytes() {
    return position
        + (long) TableFormat.RESTART_BYTES * restartCount
        + TableFormat.BLOCK_TRAILER_BYTES;
  }

  /** Upper bound for an entry. */
  long entryBytes(int keyLength, int commonLength, long tag, int payloadLength) {
    int shared = nextIsRestart() ? 0 : commonLength;
    int unshared = keyLength - shared;
    long tail = tailLength(tag, payloadLength);
    return Varint.length(shared)
        + Varint.length(unshared)
        + Varint.length(tail)
        + unshared
        + tail
        + (nextIsRestart() ? TableFormat.RESTART_BYTES : 0);
  }

  /**
   * @param commonLength leading bytes that the key shares with the previous one
   */
  void add(
      Region key,
      long keyOffset,
      int keyLength,
      int commonLength,
      long tag,
      Region payload,
      long payloadOffset,
      int payloadLength) {
    long bytesMax = position + 4L * Varint.BYTES_MAX + keyLength + payloadLength;
    Region target = block.ensure(bytesMax);
    int shared = commonLength;
    if (nextIsRestart()) {
      shared = 0;
      entriesSinceRestart = 0;
      addRestart();
    }
    entriesSinceRestart++;
    int unshared = keyLength - shared;
    long at = Varint.put(target, position, shared);
    at = Varint.put(target, at, unshared);
    at = Varint.put(target, at, tailLength(tag, payloadLength));
    target.put(at, key, keyOffset + shared, unshared);
    at += unshared;
    target.putByte(at, (byte) Tag.kind(tag));
    at = Varint.put(target, at + 1, Tag.sequence(tag));
    target.put(at, payload, payloadOffset, payloadLength);
    position = Math.toIntExact(at + payloadLength);
  }

  /**
   * Appends restarts and checksum; returns the length. The block is at the start of {@link #region}
   * until {@link #clear}.
   *
   * @param fileOffset of the block
   */
  int seal(long seed, long fileOffset, NativeWindow window) {
    int length = Math.toIntExact(bytes());
    Region target = block.ensure(length);
    long at = position;
    for (int i = 0; i < restartCount; i++) {
      target.putInt(at, restarts[i]);
      at += TableFormat.RESTART_BYTES;
    }
    target.putInt(at, restartCount);
    at += 4;
    target.putInt(at, TableFormat.checksum(window.crc32c(target, 0, at), seed, fileOffset));
    return length;
  }

  Region region() {
    return block.region();
  }

  void clear() {
    restartCount = 0;
    entriesSinceRestart = 0;
    position = 0;
  }

  @Override
  public void close() {
    block.close();
  }

  private boolean nextIsRestart() {
    return restartCount == 0 || entriesSinceRestart >= restartInterval;
  }

  private void addRestart() {
    if (restartCount == restarts.length) {
      restarts = Arrays.copyOf(restarts, restartCount * 2);
    }
    restarts[restartCount++] = position;
  }

  private static long tailLength(long tag, int payloadLength) {
    return 1L + Varint.length(Tag.sequence(tag)) + payloadLength;
  }
}
