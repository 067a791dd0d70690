package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.EntryLookahead;
import io.kvsep.internal.iterator.HeapEntry;
import io.kvsep.internal.iterator.KeyLimit;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A heap copy of the verified block of a {@link TableIterator}. Reads entries as {@link BlockView}
 * does, but leaves long and malformed ones, which are few, to the view.
 */
final class BlockCopy extends EntryLookahead {
  /** Longer blocks hold few entries. */
  private static final int BYTES_MAX = 4096;

  /** With restarts and trailer. */
  private static final int WHOLE_BYTES_MAX = BYTES_MAX + 512;

  private static final int SLACK = HeapEntry.SLACK;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final CRC32C crc = new CRC32C();
  private byte[] bytes = {};

  @SuppressWarnings("NullAway.Init") // set by copy, before any read
  private Region source;

  /** Offset of the copy in the source. */
  private long base;

  private int limit;
  private @Nullable KeyLimit limitKey;
  private long sequenceMax;

  /** Start of the last entry seen, and of the next; equal if none was seen. */
  private int entry;

  private int next;

  static boolean takes(long length) {
    return length <= BYTES_MAX;
  }

  void copy(Region region, long from, long end) {
    int length = (int) (end - from);
    if (length + SLACK > bytes.length) {
      bytes = new byte[length + SLACK];
    }
    region.get(from, bytes, 0, length);
    source = region;
    base = from;
    limit = length;
  }

  /** As {@link #takes}, with restarts and trailer. */
  static boolean takesWhole(long length) {
    return length > TableFormat.BLOCK_TRAILER_BYTES && length <= WHOLE_BYTES_MAX;
  }

  /**
   * Copies an unverified block and verifies the copy, which proves that all pages were readable.
   *
   * @return number of restarts; 0, with an empty copy, if the block is packed or damaged
   */
  int copyBlock(TableBytes file, long from, long end) {
    copy(file.mapping(), from, end);
    int trailer = (int) (end - from) - TableFormat.BLOCK_TRAILER_BYTES;
    crc.reset();
    crc.update(bytes, 0, trailer + 4);
    int found = TableFormat.checksum((int) crc.getValue(), file.checksumSeed(), from);
    int restarts = (int) word(trailer);
    if (found != (int) (word(trailer) >>> 32)
        || restarts < 1
        || restarts > trailer / TableFormat.RESTART_BYTES) {
      limit = 0;
      return 0;
    }
    limit = trailer - restarts * TableFormat.RESTART_BYTES;
    return restarts;
  }

  boolean holds(long offset) {
    return offset >= base && offset - base < limit;
  }

  /**
   * @param below its {@code differsAt} is kept up to date with the current key
   */
  void begin(long offset, @Nullable KeyLimit below, long sequence) {
    entry = (int) (offset - base);
    next = entry;
    limitKey = below;
    sequenceMax = sequence;
  }

  boolean isMoved() {
    return next > entry;
  }

  long entryOffset() {
    return base + entry;
  }

  long nextOffset() {
    return base + next;
  }

  @Override
  public boolean next(HeapEntry seen) {
    int at = next;
    if (at >= limit) {
      return false;
    }
    long word = word(at);
    int shared = (int) word & 0x7f;
    int unshared = unshared(word);
    int suffix = suffix(at, word);
    int tailAt = suffix + unshared;
    int end = tailAt + tailLength(word);
    if (!isShort(word) || end > limit) {
      return false;
    }
    long tail = word(tailAt);
    long ends = Varint.ends(tail >>> 8);
    if (ends == 0) {
      return false;
    }
    int payload = tailAt + 1 + Varint.lengthTo(ends);
    long sequence = Varint.first(tail >>> 8, ends);
    int kind = (int) tail & 0xff;
    if (payload > end
        || sequence > sequenceMax
        || (kind != Tag.PUT && kind != Tag.POINTER)
        || !isBehind(seen, shared, suffix, unshared)) {
      return false;
    }
    int length = shared + unshared;
    seen.require(length);
    byte[] key = seen.key;
    for (int i = 0; i < unshared; i += 8) {
      LONGS.set(key, shared + i, word(suffix + i));
    }
    seen.keyLength = length;
    seen.tag = Tag.of(sequence, kind);
    seen.payloadOffset = base + payload;
    seen.payloadLength = end - payload;
    entry = at;
    next = end;
    return true;
  }

  /** Whether a key is after the previous one and below the limit. */
  private boolean isBehind(HeapEntry before, int shared, int suffix, int unshared) {
    int same = shared;
    if (shared > before.keyLength || (unshared == 0 && shared == before.keyLength)) {
      return false;
    }
    if (shared == 0) {
      if (unshared == 0) {
        // Keys are never empty.
        return false;
      }
      // A restart holds the full key.
      same = Arrays.mismatch(before.key, 0, before.keyLength, bytes, suffix, suffix + unshared);
      if (same < 0) {
        return false;
      }
    }
    KeyLimit below = limitKey;
    return below == null
        || same > below.differsAt
        || isBelow(below, suffix + same - shared, suffix + unshared, same);
  }

  /**
   * @param from start of the bytes not shared with the previous key
   * @param same leading bytes that the key, the previous key and the limit share
   */
  private boolean isBelow(KeyLimit below, int from, int end, int same) {
    int more = Arrays.mismatch(bytes, from, end, below.key, same, below.length);
    if (more < 0 || same + more == below.length) {
      return false;
    }
    if (from + more < end && (bytes[from + more] & 0xff) > (below.key[same + more] & 0xff)) {
      return false;
    }
    below.differsAt = same + more;
    return true;
  }

  @Override
  public void foresee(PrefetchSink sink) {
    int at = entry;
    try {
      boolean more = true;
      while (more && at < limit) {
        long word = word(at);
        int tailAt = suffix(at, word) + unshared(word);
        int end = tailAt + tailLength(word);
        long tail = isShort(word) && end <= limit ? word(tailAt) : -1;
        long ends = Varint.ends(tail >>> 8);
        if (ends == 0) {
          break;
        }
        more = sink.entry(tail & 0xff, source, base + tailAt + 1 + Varint.lengthTo(ends));
        at = end;
      }
    } catch (IndexOutOfBoundsException e) {
      // The read that reaches the damage reports it.
    }
  }

  @Override
  public int copyPayload(HeapEntry seen, byte[] target) {
    int length = seen.payloadLength;
    System.arraycopy(bytes, (int) (seen.payloadOffset - base), target, 0, length);
    return length;
  }

  /** Eight bytes, possibly past the last entry. */
  private long word(int at) {
    return (long) LONGS.get(bytes, at);
  }

  /** Whether key lengths take one byte each and the tail length at most two. */
  private static boolean isShort(long word) {
    return (word & 0x80_8080L) == 0 || (word & 0x8000_8080L) == 0;
  }

  /** Start of the suffix of the entry that starts with {@code word}. */
  private static int suffix(int at, long word) {
    return at + 3 + ((int) (word >>> 23) & 1);
  }

  private static int unshared(long word) {
    return (int) (word >>> 8) & 0x7f;
  }

  private static int tailLength(long word) {
    int low = (int) (word >>> 16) & 0x7f;
    return (word & 0x80_0000L) == 0 ? low : low | ((int) (word >>> 17) & 0x3f80);
  }
}
