package io.kvsep.internal.sstable;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Varint;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;

/**
 * Changes bytes of a table as an attacker who knows the format would: all checksums are computed
 * anew, so that only what they cannot know shows the change. Blocks must not be packed.
 */
public final class TamperedTable {
  private final byte[] bytes;
  private final ByteBuffer fields;
  private final long seed;
  private final int footer;

  /** Where an entry ends its key, and its payload. */
  public record Place(int keyEnd, int keyLength, int payload, int payloadLength, int kind) {}

  /** The table of that number in the store that this is the CURRENT file of. */
  public TamperedTable(byte[] table, long number, byte[] current) {
    this.bytes = table.clone();
    this.fields = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer header = ByteBuffer.wrap(current).order(ByteOrder.LITTLE_ENDIAN);
    this.seed =
        TableFormat.checksumSeed(new StoreId(header.getLong(12), header.getLong(20)), number);
    this.footer = bytes.length - TableFormat.FOOTER_BYTES;
  }

  /** All entries in order. */
  public List<Place> entries() {
    List<Place> places = new ArrayList<>();
    for (int block = 0; block < blockCount(); block++) {
      int end = blockOffset(block + 1);
      int restarts = fields.getInt(end - TableFormat.BLOCK_TRAILER_BYTES);
      int limit = end - TableFormat.BLOCK_TRAILER_BYTES - TableFormat.RESTART_BYTES * restarts;
      int at = blockOffset(block);
      while (at < limit) {
        long shared = varint(at);
        at += Varint.length(shared);
        long unshared = varint(at);
        at += Varint.length(unshared);
        long tail = varint(at);
        at += Varint.length(tail);
        int keyEnd = at + (int) unshared;
        int kind = bytes[keyEnd];
        int payload = keyEnd + 1 + Varint.length(varint(keyEnd + 1));
        at = keyEnd + (int) tail;
        places.add(new Place(keyEnd, (int) (shared + unshared), payload, at - payload, kind));
      }
    }
    return places;
  }

  /** Two entries change their payloads, which are pointers. */
  public TamperedTable withPointersSwapped() {
    List<Place> pointers =
        entries().stream()
            .filter(
                place -> Tag.baseKind(place.kind()) == Tag.POINTER && !Tag.expires(place.kind()))
            .toList();
    for (Place one : pointers) {
      for (Place other : pointers) {
        if (one.payload() < other.payload() && one.payloadLength() == other.payloadLength()) {
          for (int i = 0; i < one.payloadLength(); i++) {
            swap(one.payload() + i, other.payload() + i);
          }
          return this;
        }
      }
    }
    throw new IllegalStateException("no two pointers of one length");
  }

  /** Two neighbours whose keys differ in the last byte alone change their places. */
  public TamperedTable withNeighboursSwapped() {
    List<Place> places = entries();
    for (int i = 1; i < places.size(); i++) {
      Place one = places.get(i - 1);
      Place other = places.get(i);
      boolean alike =
          one.keyLength() == other.keyLength()
              && bytes[one.keyEnd() - 1] != bytes[other.keyEnd() - 1]
              && other.keyEnd() - one.payload() - one.payloadLength() == 4;
      if (alike) {
        swap(one.keyEnd() - 1, other.keyEnd() - 1);
        return this;
      }
    }
    throw new IllegalStateException("no two neighbours");
  }

  /** Up to {@code count} bytes of the blocks change to any others. */
  public TamperedTable withOtherBytes(Random random, int count) {
    int start = blockOffset(0);
    int length = blockOffset(blockCount()) - start;
    for (int i = 0; i < count; i++) {
      bytes[start + random.nextInt(length)] = (byte) random.nextInt();
    }
    return this;
  }

  /** The properties claim another number of live bytes for the first segment. */
  public TamperedTable withOtherLiveBytes() {
    int properties = fields.getInt(footer + TableFormat.FOOTER_PROPERTIES);
    int at = properties + 80 + fields.getInt(properties + 64) + fields.getInt(properties + 68);
    at += Varint.length(varint(at));
    bytes[at] ^= 2;
    return this;
  }

  /** The filter knows no key. */
  public TamperedTable withEmptyFilter() {
    int from = fields.getInt(footer + TableFormat.FOOTER_FILTER);
    int end = fields.getInt(footer + TableFormat.FOOTER_INDEX);
    java.util.Arrays.fill(bytes, from, end - 8, (byte) 0);
    return this;
  }

  /** The index looks for the first block's keys in the second one. */
  public TamperedTable withOtherSeparator() {
    int records = records();
    for (int i = 0; i < 8; i++) {
      bytes[records + i] = 0;
    }
    return this;
  }

  /** The table with sound checksums. */
  public byte[] sealed() {
    for (int block = 0; block < blockCount(); block++) {
      int start = blockOffset(block);
      int end = blockOffset(block + 1) - 4;
      fields.putInt(end, checksum(start, end));
    }
    for (int section = 0; section <= TableFormat.FOOTER_PROPERTIES; section += 12) {
      int start = fields.getInt(footer + section);
      int end = start + fields.getInt(footer + section + 4);
      fields.putInt(footer + section + 8, checksum(start, end));
    }
    fields.putInt(footer + 48, checksum(footer, footer + 48));
    return bytes;
  }

  private int checksum(int from, int to) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, from, to - from);
    return TableFormat.checksum((int) crc.getValue(), seed, from);
  }

  private int blockCount() {
    return fields.getInt(fields.getInt(footer + TableFormat.FOOTER_PROPERTIES) - 8);
  }

  private int records() {
    int index = fields.getInt(footer + TableFormat.FOOTER_INDEX);
    return index + TableFormat.padding(index, TableFormat.INDEX_ALIGNMENT);
  }

  private int blockOffset(int block) {
    return fields.getInt(records() + TableFormat.INDEX_RECORD_BYTES * block + 12);
  }

  private long varint(int at) {
    long value = 0;
    for (int i = 0; ; i++) {
      value |= (bytes[at + i] & 0x7fL) << (7 * i);
      if (bytes[at + i] >= 0) {
        return value;
      }
    }
  }

  private void swap(int one, int other) {
    byte kept = bytes[one];
    bytes[one] = bytes[other];
    bytes[other] = kept;
  }
}
