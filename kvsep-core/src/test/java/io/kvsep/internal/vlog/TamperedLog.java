package io.kvsep.internal.vlog;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** Changes bytes of a file of the log as an attacker who knows the format would. */
public final class TamperedLog {
  private TamperedLog() {}

  /** Two relocations of one old segment change their new places. */
  public static byte[] withRelocationsSwapped(byte[] file) {
    byte[] bytes = file.clone();
    ByteBuffer fields = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int footer = bytes.length - BlobFileFormat.FOOTER_BYTES;
    int first = (int) fields.getLong(footer + BlobFileFormat.RECORDS_END_AT);
    int kept = fields.getInt(first + 4);
    fields.putInt(first + 4, fields.getInt(first + 12));
    fields.putInt(first + 12, kept);
    fields.putInt(footer + BlobFileFormat.TABLES_CRC_AT, crc(bytes, first, footer));
    fields.putInt(
        footer + BlobFileFormat.FOOTER_CRC_AT,
        crc(bytes, footer, footer + BlobFileFormat.FOOTER_CRC_AT));
    return bytes;
  }

  /** The second frame has the sequence number of the first. */
  public static byte[] withSequenceRepeated(byte[] file, long segment) {
    byte[] bytes = file.clone();
    ByteBuffer fields = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int first = LogFormat.SEGMENT_HEADER_BYTES;
    int second =
        first + LogFormat.FRAME_HEADER_BYTES + fields.getInt(first + LogFormat.BODY_LENGTH_AT);
    fields.putLong(
        second + LogFormat.FIRST_SEQUENCE_AT, fields.getLong(first + LogFormat.FIRST_SEQUENCE_AT));
    int crc = crc(bytes, second + 4, second + LogFormat.FRAME_HEADER_BYTES);
    fields.putInt(second, crc ^ LogFormat.place(segment, second));
    return bytes;
  }

  private static int crc(byte[] bytes, int from, int to) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, from, to - from);
    return (int) crc.getValue();
  }
}
