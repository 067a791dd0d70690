package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Reads one data block at a time, in place unless it is packed. Blocks in the file are verified on
 * entry. Not thread safe.
 *
 * <p>A malformed block with a valid checksum is never read past the table. It raises {@link
 * IndexOutOfBoundsException}, which the owner turns into a {@link
 * io.kvsep.error.CorruptionException} at {@link #fileOffset}.
 */
final class BlockView {
  /** One in so many uses of cached blocks is reported; a power of two. */
  private static final long SAMPLE = 16;

  /** Packed blocks read. Written by the owner only. */
  final AtomicLong packedReads = new AtomicLong();

  final NativeWindow window = new NativeWindow();
  private @Nullable PackedBlock packed;

  @SuppressWarnings("NullAway.Init") // set by enter, before any read
  private Region table;

  long fileOffset;

  /** Start of the block and of its first entry in {@link #region}. */
  long start;

  /** End of the entries, where the restarts begin. */
  long limit;

  private int restartCount;

  // Parsed entry: start of the key suffix, length of the shared key prefix and of the suffix.
  long suffix;
  int shared;
  int unshared;

  /** End of the entry. */
  long next;

  long tag;
  long payload;
  int payloadLength;

  /** Before another iterator uses it. */
  void forget() {
    fileOffset = 0;
    window.trim();
  }

  /** The table's mapping or an unpacked block; all offsets refer to it. */
  Region region() {
    return table;
  }

  /**
   * Enters and verifies another block. Packed ones go through the table's cache: the caller stays
   * inside the epochs while it reads the block. If the cache is full, unpacks into {@code scratch}.
   */
  void enterShared(TableReader reader, int block, GrowingRegion scratch) {
    CachedBlock cached = reader.cached(block);
    if (cached == null) {
      TableIndex index = reader.index();
      long from = index.blockStart(block);
      long end = index.blockEnd(block);
      reader.bytes().load(from, end - from);
      long trailer = enterStored(reader.bytes(), from, end);
      if (table.getInt(trailer) != PackedBlock.MARK) {
        setRestarts(trailer);
        return;
      }
      cached = reader.cache(block, packed(), start, trailer);
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
    fileOffset = reader.index().blockStart(block);
    enterUnpacked(cached.bytes(), cached.bytes().length());
  }

  /** As {@link #enterShared}, without the cache. */
  void enter(TableReader reader, int block, GrowingRegion scratch) {
    TableIndex index = reader.index();
    enter(reader.bytes(), index.blockStart(block), index.blockEnd(block), scratch);
  }

  /** For a table without a reader. */
  void enter(TableBytes bytes, long from, long end, GrowingRegion scratch) {
    long trailer = enterStored(bytes, from, end);
    if (table.getInt(trailer) != PackedBlock.MARK) {
      setRestarts(trailer);
      return;
    }
    enterUnpacked(trailer, scratch);
  }

  /** Enters a block of the file by its verified {@link BlockCopy}. */
  void enterCopied(Region mapping, long from, long trailer, int restarts) {
    table = mapping;
    start = from;
    fileOffset = from;
    setRestarts(trailer, restarts);
  }

  /** Verifies a block in the file; returns the offset of its trailer. */
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

  /** Made when first needed: most tables have no packed blocks. */
  PackedBlock packed() {
    PackedBlock unpacker = packed;
    if (unpacker == null) {
      unpacker = new PackedBlock();
      packed = unpacker;
    }
    return unpacker;
  }

  private void enterUnpacked(long trailer, GrowingRegion scratch) {
    int length = PackedBlock.unpackedLength(table, start, trailer);
    Region unpacked = scratch.ensure(length);
    packed().unpack(table, start, trailer, unpacked, length);
    enterUnpacked(unpacked, length);
  }

  private void enterUnpacked(Region unpacked, long length) {
    table = unpacked;
    start = 0;
    setRestarts(length - 4);
  }

  /** The restart count is at {@code trailer}, after the restarts. */
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

  void parse(long at) {
    // Eight bytes are readable: a restart and the restart count follow. Most keys are shorter than
    // 128 bytes, and most tail lengths take one or two bytes.
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

  /** Parses the tail of the entry last parsed. */
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
   * <p>Assembles no keys, but tracks how many bytes the previous, smaller entry shares with the key
   * sought. An entry that shares more bytes with the previous one is smaller too; one that shares
   * fewer is greater. Bytes are compared only if the counts are equal.
   *
   * @return whether it exists and is a version of {@code key}
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

  /** Number of entries before the key. */
  int rank(Region key, int keyLength) {
    int restart = floorRestartIndex(key, 0, keyLength, Tag.MAX);
    int rank = 0;
    long from = restart(restart);
    for (long at = start; at < from; at = next) {
      parse(at);
      rank++;
    }
    int matched = 0;
    for (long at = from; at < limit; at = next) {
      parse(at);
      if (shared == 0) {
        matched = 0;
      }
      if (shared < matched) {
        return rank;
      }
      if (shared == matched) {
        int rest = keyLength - matched;
        int more = Region.commonPrefix(table, suffix, unshared, key, matched, rest);
        boolean isBefore =
            more < rest
                && (more == unshared
                    || (table.getByte(suffix + more) & 0xff)
                        < (key.getByte(matched + (long) more) & 0xff));
        if (!isBefore) {
          return rank;
        }
        matched += more;
      }
      rank++;
    }
    return rank;
  }

  /** The last restart with an entry before (key, tag), or else the first. */
  long floorRestart(Region key, long keyOffset, int keyLength, long seekTag) {
    return restart(floorRestartIndex(key, keyOffset, keyLength, seekTag));
  }

  private int floorRestartIndex(Region key, long keyOffset, int keyLength, long seekTag) {
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
    return low;
  }

  /** The last restart before {@code offset}. */
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

  /** Start of the entry of a restart. */
  long restart(int index) {
    int offset = table.getInt(limit + (long) TableFormat.RESTART_BYTES * index);
    if (offset < 0 || offset >= limit - start) {
      throw new IndexOutOfBoundsException("restart at " + offset);
    }
    return start + offset;
  }
}
