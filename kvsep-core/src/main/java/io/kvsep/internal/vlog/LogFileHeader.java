package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/** Detects the kind of a log file from its bytes. */
public final class LogFileHeader {
  public static final int BYTES = LogFormat.SEGMENT_HEADER_BYTES;

  private LogFileHeader() {}

  /**
   * Returns whether the file has the header of a blob file, or an unknown header and the footer of
   * one.
   */
  public static boolean isRelocated(Region file) {
    boolean begins = file.length() >= BYTES && file.getLong(0) == BlobFileFormat.KIND.magicNumber();
    boolean isLog = file.length() >= BYTES && file.getLong(0) == LogFormat.SEGMENT.magicNumber();
    long footer = file.length() - BlobFileFormat.FOOTER_BYTES;
    if (begins || isLog || footer < BYTES) {
      return begins;
    }
    int crc = new NativeWindow().crc32c(file, footer, BlobFileFormat.FOOTER_CRC_AT);
    return file.getLong(footer) == BlobFileFormat.FOOTER_MAGIC
        && file.getInt(footer + BlobFileFormat.FOOTER_CRC_AT) == crc;
  }
}
