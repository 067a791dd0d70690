package io.kvsep.internal.vlog;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** A relocated file put together by hand after docs/formats/log.md, right or wrong; no records. */
final class RelocatedBytes {
  private static final int RECORD_BYTES = 24;

  private record Table(long segment, long[] offsets) {}

  private final List<Table> tables = new ArrayList<>();

  /** What is added to the numbers in the footer. */
  long recordsEndError;

  long relocationsEndError;
  int segmentCountError;
  int recordCountError;

  RelocatedBytes segment(long id, long... offsets) {
    tables.add(new Table(id, offsets));
    return this;
  }

  /** What the file says about the record that had this place. */
  static long newOffset(long segment, long offset) {
    return (segment * 31 + offset * 7) & 0xffff_ffffL;
  }

  byte[] toBytes(long fileId) {
    int relocations = tables.stream().mapToInt(table -> table.offsets.length).sum();
    int recordsEnd = 40 + RECORD_BYTES;
    int relocationsEnd = recordsEnd + 8 * relocations;
    int footer = relocationsEnd + 12 * tables.size();
    ByteBuffer out = ByteBuffer.allocate(footer + 40).order(ByteOrder.LITTLE_ENDIAN);
    out.put(LogFixture.bytes("KVSEPREL")).putInt(1);
    out.putLong(LogFixture.STORE.high()).putLong(LogFixture.STORE.low()).putLong(fileId);
    out.putInt(crc(out, 0, 36));
    out.position(recordsEnd);
    for (Table table : tables) {
      for (long offset : table.offsets) {
        out.putInt((int) offset).putInt((int) newOffset(table.segment, offset));
      }
    }
    for (Table table : tables) {
      out.putLong(table.segment).putInt(table.offsets.length);
    }
    out.put(LogFixture.bytes("KVSEPRLT"));
    out.putLong(recordsEnd + recordsEndError).putLong(relocationsEnd + relocationsEndError);
    out.putInt(tables.size() + segmentCountError);
    out.putInt(crc(out, recordsEnd, footer));
    out.putInt(relocations + recordCountError);
    out.putInt(crc(out, footer, footer + 36));
    return out.array();
  }

  private static int crc(ByteBuffer bytes, int from, int to) {
    CRC32C crc = new CRC32C();
    crc.update(bytes.slice(from, to - from));
    return (int) crc.getValue();
  }
}
