package io.kvsep.internal.vlog;

/** Decides whether records are stored in the order in which they are read. */
public final class RecordOrder {
  /** The gain for longer records was not measured. */
  public static final long SCATTERED_BYTES_MAX = 32 << 10;

  /** Records that may be between two in order, since they may be dead. */
  private static final int GAP_RECORDS_MAX = 3;

  private RecordOrder() {}

  /** Whether a record starts at {@code end}, where the previous one ends, or shortly after. */
  public static boolean follows(long end, long offset, int length) {
    return offset >= end && offset - end <= (long) GAP_RECORDS_MAX * length;
  }
}
