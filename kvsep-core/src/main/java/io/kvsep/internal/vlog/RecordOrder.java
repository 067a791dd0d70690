package io.kvsep.internal.vlog;

/** When records lie in the order in which they are read. */
public final class RecordOrder {
  /** What order is worth for longer records was not measured. */
  public static final long SCATTERED_BYTES_MAX = 32 << 10;

  /** Records between two that still lie in order: those in between may be dead. */
  private static final int GAP_RECORDS_MAX = 3;

  private RecordOrder() {}

  /** Whether a record lies behind another one that ends at {@code end}, or nearly. */
  public static boolean follows(long end, long offset, int length) {
    return offset >= end && offset - end <= (long) GAP_RECORDS_MAX * length;
  }
}
