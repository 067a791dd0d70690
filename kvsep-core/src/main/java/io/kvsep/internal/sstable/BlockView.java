package io.kvsep.internal.sstable;

import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Reads data blocks of tables, one at a time. A block that is not packed is read in place: nothing
 * is copied. The checksum of a block in the file is verified when the view enters it. Not thread
 * safe; every lookup slot and iterator has its own.
 *
 * <p>A block whose checksum holds and whose contents do not is still never read outside the table:
 * it raises {@link IndexOutOfBoundsException}, which the owner of the view turns into a {@link
 * io.kvsep.error.CorruptionException} of {@link #fileOffset}.
 */
final class BlockView {
  /** One in so many uses of a cached block is reported; a power of two. */
  private static final long SAMPLE = 16;

  /** Packed blocks that were looked into. Written by the owner alone, read by others. */
  final AtomicLong packedReads = new AtomicLong();

  final NativeWindow window = new NativeWindow();
  private final PackedBlock packed = new PackedBlock();

  @SuppressWarnings("NullAway.Init") // there is nothing to read before enter
  private Region table;

  /** Where the block begins in the file. */
  long fileOffset;

  /** Where the block begins in {@link #region}, which is its first entry. */
  long start;

  /** Behind the last entry, which is the first restart. */
  long limit;

  private int restartCount;

  // The entry parsed last: where its suffix begins, and what of it comes from the entry before.
  long suffix;
  int shared;
  int unshared;

  /** Behind the entry. */
  long next;

  long tag;
  long payload;
  int payloadLength;

  /** What the offsets of this view are offsets in: the table's mapping or an unpacked block. */
  Region region() {
    return table;
  }

  /**
   * Goes to another block and verifies it. A packed one is taken from the table's cache, or put
   * there; the caller is inside the epochs for as long as it looks at it. Where the cache has no
   * room, it is unpacked into {@code scratch}.
   */
  void enterShared(TableReader reader, int block, GrowingRegion scratch) {
    CachedBlock cached = reader.cached(block);
    if (cached == null) {
      TableIndex index = reader.index();
      long from = index.blockOffset(block);
      long end = index.blockOffset(block + 1);
      reader.bytes().load(from, end - from);
      long trailer = enterStored(reader.bytes(), from, end);
      if (table.getInt(trailer) != PackedBlock.MARK) {
        setRestarts(trailer);
        return;
      }
      cached = reader.cache(block, packed, start, trailer);
      if (cached == null) {
        packedReads.setOpaque(packedReads.getPlain() + 1);
        enterUnpacked(trailer, scratch);
        return;
      }
    }
    long reads = packedReads.getPlain() + 1;
    packedReads.setOpaque(reads);
    if ((reads & (SAMPLE - 1)) == 0) {
      reader.used(cached);
    }
    fileOffset = reader.index().blockOffset(block);
    enterUnpacked(cached.bytes(), cached.bytes().length());
  }

  /** As above, with a packed block unpacked into {@code scratch}. */
  void enter(TableReader reader, int block, GrowingRegion scratch) {
    TableIndex index = reader.index();
    enter(reader.bytes(), index.blockOffset(block), index.blockOffset(block + 1), scratch);
  }

  /** As above, in a table of which nobody has made a reader. */
  void enter(TableBytes bytes, long from, long end, GrowingRegion scratch) {
    long trailer = enterStored(bytes, from, end);
    if (table.getInt(trailer) != PackedBlock.MARK) {
      setRestarts(trailer);
      return;
    }
    enterUnpacked(trailer, scratch);
  }

  /** Goes to a block of the file of which a {@link BlockCopy} was verified. */
  void enterCopied(Region mapping, long from, long trailer, int restarts) {
    table = mapping;
    start = from;
    fileOffset = from;
    setRestarts(trailer, restarts);
  }

  /** Verifies a block in the file and returns where its trailer is. */
  private long enterStored(TableBytes bytes, long from, long end) {
    table = bytes.mapping();
    start = from;
    fileOffset = start;
    long trailer = end - TableFormat.BLOCK_TRAILER_BYTES;
    if (trailer < start) {
      throw new IndexOutOfBoundsException("block of " + (end - start) + " bytes");
    }
    int expected = table.getInt(trailer + 4);
    int found =
        TableFormat.checksum(
            window.crc32c(table, start, trailer + 4 - start), bytes.checksumSeed(), start);
    if (found != expected) {
      throw TableFormat.checksumMismatch(bytes.name(), start, expected, found);
    }
    return trailer;
  }

  private void enterUnpacked(long trailer, GrowingRegion scratch) {
    int length = PackedBlock.unpackedLength(table, start, trailer);
    Region unpacked = scratch.ensure(length);
    packed.unpack(table, start, trailer, unpacked, length);
    enterUnpacked(unpacked, length);
  }

  private void enterUnpacked(Region unpacked, long length) {
    table = unpacked;
    start = 0;
    setRestarts(length - 4);
  }

  /** The number of restarts stands at {@code trailer}, they themselves in front of it. */
  private void setRestarts(long trailer) {
    setRestarts(trailer, table.getInt(trailer));
  }

  private void setRestarts(long trailer, int restarts) {
    restartCount = restarts;
    limit = trailer - (long) TableFormat.RESTART_BYTES * restartCount;
    if (restartCount < 1 || limit <= start) {
      throw new IndexOutOfBoundsException(restartCount + " restarts");
    }
  }

  /** Parses what precedes the suffix of the entry at {@code at}. */
  void parse(long at) {
    // Eight bytes are always there: a restart and their number are behind the entries. Most entries
    // have a tail that takes one or two bytes to measure, and shorter keys than 128 bytes.
    long word = table.getLong(at);
    if ((word & 0x80_8080L) == 0) {
      shared = (int) word & 0x7f;
      unshared = (int) (word >>> 8) & 0x7f;
      suffix = at + 3;
      next = suffix + unshared + (word >>> 16 & 0x7f);
    } else if ((word & 0x8000_8080L) == 0) {
      shared = (int) word & 0x7f;
      unshared = (int) (word >>> 8) & 0x7f;
      suffix = at + 4;
      next = suffix + unshared + ((word >>> 16 & 0x7f) | (word >>> 17 & 0x3f80));
    } else {
      parseLong(at);
    }
    if (next > limit) {
      throw new IndexOutOfBoundsException("entry ends at " + next + ", entries at " + limit);
    }
  }

  private void parseLong(long at) {
    shared = Varint.getInt(table, at);
    long field = at + Varint.length(shared);
    unshared = Varint.getInt(table, field);
    field += Varint.length(unshared);
    int tail = Varint.getInt(table, field);
    suffix = field + Varint.length(tail);
    next = suffix + unshared + tail;
  }

  /** Parses the tail of the entry that {@link #parse} was at. */
  void parseTail() {
    long at = suffix + unshared;
    long word = table.getLong(at);
    long bytes = word >>> 8;
    long ends = Varint.ends(bytes);
    if (ends == 0) {
      long sequence = Varint.get(table, at + 1);
      tag = (sequence << 8) | (word & 0xff);
      payload = at + 1 + Varint.length(sequence);
    } else {
      tag = (Varint.first(bytes, ends) << 8) | (word & 0xff);
      payload = at + 1 + Varint.lengthTo(ends);
    }
    payloadLength = (int) (next - payload);
    if (payloadLength < Payload.headerLength((int) word & 0xff)) {
      throw new IndexOutOfBoundsException("tail of " + (next - at) + " bytes");
    }
  }

  /**
   * Parses the first entry at or after (key, {@code seekTag}) in this block.
   *
   * <p>Keys are not put together: the scan only knows how many bytes of the entry before, which is
   * smaller than the key sought, agree with it. An entry that shares more than that with the one
   * before is smaller as well; one that shares less is greater; only where the counts are equal are
   * bytes compared.
   *
   * @return whether there is one and it is a version of {@code key}
   */
  boolean find(Region key, long keyOffset, int keyLength, long seekTag) {
    int matched = 0;
    for (long at = floorRestart(key, keyOffset, keyLength, seekTag); at < limit; at = next) {
      parse(at);
      if (shared == 0) {
        matched = 0;
      }
      if (shared < matched) {
        return false;
      }
      if (shared > matched) {
        continue;
      }
      int rest = keyLength - matched;
      int more = Region.commonPrefix(table, suffix, unshared, key, keyOffset + matched, rest);
      matched += more;
      if (more == rest) {
        if (more < unshared) {
          return false;
        }
        parseTail();
        if (tag <= seekTag) {
          return true;
        }
      } else if (more < unshared
          && (table.getByte(suffix + more) & 0xff) > (key.getByte(keyOffset + matched) & 0xff)) {
        return false;
      }
    }
    return false;
  }

  /** The last restart whose entry is before (key, tag), or else the first. */
  long floorRestart(Region key, long keyOffset, int keyLength, long seekTag) {
    int low = 0;
    int high = restartCount - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      parse(restart(middle));
      int order = Region.compare(table, suffix, unshared, key, keyOffset, keyLength);
      if (order == 0) {
        parseTail();
        order = Long.compare(seekTag, tag);
      }
      if (order < 0) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return restart(low);
  }

  /** The last restart that is in front of {@code offset}. */
  long restartBefore(long offset) {
    int low = 0;
    int high = restartCount - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (restart(middle) < offset) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return restart(low);
  }

  int restartCount() {
    return restartCount;
  }

  /** Where the entry of a restart begins. */
  long restart(int index) {
    int offset = table.getInt(limit + (long) TableFormat.RESTART_BYTES * index);
    if (offset < 0 || offset >= limit - start) {
      throw new IndexOutOfBoundsException("restart at " + offset);
    }
    return start + offset;
  }
}
