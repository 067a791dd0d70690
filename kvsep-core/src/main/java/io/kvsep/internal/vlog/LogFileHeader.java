package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/** What the first bytes of a file of the log say, for whoever does not know which kind it is. */
public final class LogFileHeader {
  /** Bytes the header takes. */
  public static final int BYTES = LogFormat.SEGMENT_HEADER_BYTES;

  private LogFileHeader() {}

  /** Whether the file begins and ends like one of relocated records; one of both is enough. */
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
