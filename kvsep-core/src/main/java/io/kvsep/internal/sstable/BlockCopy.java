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
 * The entries of the block in which a {@link TableIterator} stands, copied to the heap after it was
 * verified. Reads them as {@link BlockView} does, as long as they have the short lengths that most
 * have; what is longer, or does not hold together, is left to that one.
 */
final class BlockCopy extends EntryLookahead {
  /** Longer blocks hold few entries. */
  private static final int BYTES_MAX = 4096;

  /** With its restarts and trailer. */
  private static final int WHOLE_BYTES_MAX = BYTES_MAX + 512;

  private static final int SLACK = HeapEntry.SLACK;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final CRC32C crc = new CRC32C();
  private byte[] bytes = {};

  @SuppressWarnings("NullAway.Init") // there is nothing to read before copy
  private Region source;

  /** Where the first of our bytes lies in the source. */
  private long base;

  private int limit;
  private @Nullable KeyLimit limitKey;
  private long sequenceMax;

  /** Where the entry seen last begins, and the one behind it; the same if none was seen. */
  private int entry;

  private int next;

  /** Entries that begin before this were foreseen. */
  private int foreseenTo;

  /** Whether blocks of so many bytes are copied. */
  static boolean takes(long length) {
    return length <= BYTES_MAX;
  }

  /** Copies the entries from {@code from} to {@code end}. */
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

  /** The same of a block with its restarts and trailer. */
  static boolean takesWhole(long length) {
    return length > TableFormat.BLOCK_TRAILER_BYTES && length <= WHOLE_BYTES_MAX;
  }

  /**
   * Copies a block of a table's file that was not verified, and verifies the copy: that holds only
   * if all of it was read, so nobody has to ask for pages that were not. Not for packed blocks.
   *
   * @return how many restarts it has; 0 when nothing can be said of it, and nothing is held
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

  /** Whether an entry that begins there was copied. */
  boolean holds(long offset) {
    return offset >= base && offset - base < limit;
  }

  /**
   * Begins at an entry it holds.
   *
   * @param foreseen in the source, entries that begin before this were foreseen
   * @param below knows how much of it the key before has; kept up to date
   */
  void begin(long offset, long foreseen, @Nullable KeyLimit below, long sequence) {
    entry = (int) (offset - base);
    next = entry;
    foreseenTo = (int) Math.max(0, foreseen - base);
    limitKey = below;
    sequenceMax = sequence;
  }

  /** Whether an entry was seen since. */
  boolean isMoved() {
    return next > entry;
  }

  long entryOffset() {
    return base + entry;
  }

  long nextOffset() {
    return base + next;
  }

  long foreseenTo() {
    return base + foreseenTo;
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

  /** Whether a key is another one than that before it, and below the limit. */
  private boolean isBehind(HeapEntry before, int shared, int suffix, int unshared) {
    int same = shared;
    if (shared > before.keyLength || (unshared == 0 && shared == before.keyLength)) {
      return false;
    }
    if (shared == 0) {
      if (unshared == 0) {
        // An empty key is none.
        return false;
      }
      // At a restart the whole key stands here.
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
   * @param from where the bytes of the key begin that it has not in common with the one before
   * @param same how many it has, and that one with the limit
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
  public void foresee(HeapEntry seen, PrefetchSink sink) {
    int at = entry;
    if (at < foreseenTo) {
      return;
    }
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
      foreseenTo = at;
    } catch (IndexOutOfBoundsException e) {
      // Damage is found by whoever gets there.
      foreseenTo = limit;
    }
  }

  @Override
  public int copyPayload(HeapEntry seen, byte[] target) {
    int length = seen.payloadLength;
    System.arraycopy(bytes, (int) (seen.payloadOffset - base), target, 0, length);
    return length;
  }

  /** Eight bytes, those behind the last entry included. */
  private long word(int at) {
    return (long) LONGS.get(bytes, at);
  }

  /** Whether an entry's lengths take one byte each, or two that of its tail. */
  private static boolean isShort(long word) {
    return (word & 0x80_8080L) == 0 || (word & 0x8000_8080L) == 0;
  }

  /** Where the suffix of the entry begins whose first bytes are {@code word}. */
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
