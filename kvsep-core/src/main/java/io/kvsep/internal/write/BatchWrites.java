package io.kvsep.internal.write;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Expiry;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.vlog.RecordSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The writes of a batch in order, in a few heap arrays: no object per entry, and growth moves
 * nothing. Not thread safe.
 *
 * <pre>
 * record in a chunk: kind u8, keyspace i32, keyLength i32, valueLength i32, timeToLiveMillis i64,
 *                    key, value          (heap only, never written to a file)
 * </pre>
 */
public final class BatchWrites {
  private static final int CHUNK_BYTES_MIN = 4 << 10;

  /** Below half a G1 region of a small heap; larger arrays are humongous. */
  private static final int CHUNK_BYTES_MAX = 256 << 10;

  private static final int HEADER_BYTES = 1 + 4 + 4 + 4 + 8;

  /** At most, besides key and value; keeps the longest frame below 2 GiB. */
  public static final int RECORD_OVERHEAD_BYTES = 16;

  private static final class Chunk {
    final byte[] bytes;
    int used;

    Chunk(int capacity) {
      bytes = new byte[capacity];
    }
  }

  private final long bytesMax;

  /** Chunks in use, then unused ones of the previous batch. */
  private final List<Chunk> chunks = new ArrayList<>();

  private int chunksUsed;
  private final Set<Integer> keyspaces = new HashSet<>();
  private int lastKeyspace = Keyspaces.DEFAULT;
  private int count;
  private long payloadBytes;

  public BatchWrites() {
    this(Limits.BATCH_BYTES_MAX);
  }

  BatchWrites(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /**
   * Sets the key.
   *
   * @param timeToLiveMillis 0 for no expiry; a negative number is the negated expiry time
   */
  public void put(int keyspace, byte[] key, byte[] value, long timeToLiveMillis) {
    ReadContext.checkKeyLength(key.length);
    checkValueLength(value.length);
    int kind = timeToLiveMillis != 0 ? Tag.PUT | Tag.EXPIRES : Tag.PUT;
    add(kind, keyspace, key, value, timeToLiveMillis, (long) key.length + value.length);
  }

  public void delete(int keyspace, byte[] key) {
    ReadContext.checkKeyLength(key.length);
    add(Tag.DELETE, keyspace, key, new byte[0], 0, key.length);
  }

  /** Empty and reversed ranges delete nothing. */
  public void deleteRange(int keyspace, byte[] from, byte[] to) {
    checkBoundLength(from);
    checkBoundLength(to);
    if (Arrays.compareUnsigned(from, to) < 0) {
      byte[] end = Keyspaces.storedKey(keyspace, to);
      add(Tag.RANGE_DELETE, keyspace, from, end, 0, (long) from.length + to.length);
    }
  }

  /** The keyspaces written to, except the default one, which always exists. */
  public Set<Integer> keyspaces() {
    return keyspaces;
  }

  public int count() {
    return count;
  }

  public long payloadBytes() {
    return payloadBytes;
  }

  public void clear() {
    count = 0;
    payloadBytes = 0;
    keyspaces.clear();
    lastKeyspace = Keyspaces.DEFAULT;
    chunks.subList(chunksUsed, chunks.size()).clear();
    chunksUsed = 0;
  }

  /** Receives copies of writes. */
  public interface Receiver {
    /**
     * Receives a write.
     *
     * @param kind as in {@link Tag}
     * @param value empty for a delete; the end of a deleted range, as the user gave it
     * @param timeToLiveMillis as in {@link BatchWrites#put}
     */
    void write(int kind, int keyspace, byte[] key, byte[] value, long timeToLiveMillis);
  }

  /** Passes on every write, in order. */
  public void forEach(Receiver receiver) {
    Records records = new Records(/* nowMillis= */ 0);
    while (records.next()) {
      int kind = records.kind & ~Tag.EXPIRES;
      int skipped = kind == Tag.RANGE_DELETE ? Keyspaces.prefixLength(records.keyspace) : 0;
      receiver.write(
          kind,
          records.keyspace,
          Arrays.copyOfRange(records.key, records.keyOffset, records.keyOffset + records.keyLength),
          Arrays.copyOfRange(
              records.key,
              records.valueOffset + skipped,
              records.valueOffset + records.valueLength),
          records.timeToLiveMillis);
    }
  }

  /** Times to live count from {@code nowMillis}. */
  public RecordSource records(long nowMillis) {
    return new Records(nowMillis);
  }

  public static void checkValueLength(long length) {
    if (length > Limits.VALUE_BYTES_MAX) {
      throw new LimitExceededException(
          "the value has " + length + " bytes, the limit is " + Limits.VALUE_BYTES_MAX);
    }
  }

  /** Unlike a key, a bound may be empty. */
  public static void checkBoundLength(byte[] bound) {
    if (bound.length > 0) {
      ReadContext.checkKeyLength(bound.length);
    }
  }

  private void add(
      int kind, int keyspace, byte[] key, byte[] value, long timeToLiveMillis, long userBytes) {
    long bytes = payloadBytes + userBytes;
    long framed = bytes + (count + 1L) * RECORD_OVERHEAD_BYTES;
    if (count > 0 && framed > bytesMax) {
      throw new LimitExceededException(
          "the batch would have " + framed + " bytes, the limit is " + bytesMax);
    }
    // First: an Error here leaves the batch as it was.
    Chunk chunk = chunkFor((long) HEADER_BYTES + key.length + value.length);
    note(keyspace);
    byte[] target = chunk.bytes;
    int at = chunk.used;
    target[at] = (byte) kind;
    putInt(target, at + 1, keyspace);
    putInt(target, at + 5, key.length);
    putInt(target, at + 9, value.length);
    putInt(target, at + 13, (int) timeToLiveMillis);
    putInt(target, at + 17, (int) (timeToLiveMillis >>> 32));
    at += HEADER_BYTES;
    System.arraycopy(key, 0, target, at, key.length);
    System.arraycopy(value, 0, target, at + key.length, value.length);
    chunk.used = at + key.length + value.length;
    payloadBytes = bytes;
    count++;
  }

  /** Once per run of writes to a keyspace: most writes allocate nothing. */
  private void note(int keyspace) {
    if (keyspace != lastKeyspace) {
      if (keyspace != Keyspaces.DEFAULT) {
        keyspaces.add(keyspace);
      }
      lastKeyspace = keyspace;
    }
  }

  private Chunk chunkFor(long needed) {
    Chunk last = chunksUsed == 0 ? null : chunks.get(chunksUsed - 1);
    if (last != null && needed <= last.bytes.length - last.used) {
      return last;
    }
    if (chunksUsed == chunks.size() || chunks.get(chunksUsed).bytes.length < needed) {
      int doubled =
          last == null ? CHUNK_BYTES_MIN : Math.min(CHUNK_BYTES_MAX, last.bytes.length * 2);
      Chunk chunk = new Chunk(Math.toIntExact(Math.max(doubled, needed)));
      chunks.subList(chunksUsed, chunks.size()).clear();
      chunks.add(chunk);
    }
    Chunk next = chunks.get(chunksUsed++);
    next.used = 0;
    return next;
  }

  private static void putInt(byte[] target, int at, int value) {
    target[at] = (byte) value;
    target[at + 1] = (byte) (value >>> 8);
    target[at + 2] = (byte) (value >>> 16);
    target[at + 3] = (byte) (value >>> 24);
  }

  private static int getInt(byte[] source, int at) {
    return (source[at] & 0xff)
        | ((source[at + 1] & 0xff) << 8)
        | ((source[at + 2] & 0xff) << 16)
        | ((source[at + 3] & 0xff) << 24);
  }

  private final class Records extends RecordSource {
    private final long nowMillis;
    private long timeToLiveMillis;
    private int chunkIndex;
    private int at;

    Records(long nowMillis) {
      this.nowMillis = nowMillis;
    }

    @Override
    public void rewind() {
      chunkIndex = 0;
      at = 0;
    }

    @Override
    public boolean next() {
      while (chunkIndex < chunksUsed && at >= chunks.get(chunkIndex).used) {
        chunkIndex++;
        at = 0;
      }
      if (chunkIndex == chunksUsed) {
        return false;
      }
      byte[] source = chunks.get(chunkIndex).bytes;
      kind = source[at] & 0xff;
      keyspace = getInt(source, at + 1);
      keyLength = getInt(source, at + 5);
      valueLength = getInt(source, at + 9);
      timeToLiveMillis =
          (getInt(source, at + 13) & 0xffffffffL) | ((long) getInt(source, at + 17) << 32);
      expiresAtMillis = Expiry.at(nowMillis, timeToLiveMillis);
      key = source;
      keyOffset = at + HEADER_BYTES;
      value = kind == Tag.DELETE ? null : source;
      valueOffset = keyOffset + keyLength;
      at = valueOffset + valueLength;
      return true;
    }

    @Override
    public int recordCount() {
      return count;
    }

    @Override
    public long payloadBytes() {
      return payloadBytes;
    }
  }
}
