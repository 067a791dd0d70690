package io.kvsep.internal.base;

/**
 * A place in the value log: segment and byte offset in it. Positions are ordered as the log was
 * written.
 *
 * @param segment logical id of the segment, from 1; 0 is before all of them
 * @param offset bytes from the start of the segment
 */
public record LogPosition(long segment, long offset) implements Comparable<LogPosition> {
  /** Before everything. */
  public static final LogPosition START = new LogPosition(0, 0);

  /** The one that is further on. */
  public static LogPosition later(LogPosition a, LogPosition b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  @Override
  public int compareTo(LogPosition other) {
    return segment != other.segment
        ? Long.compare(segment, other.segment)
        : Long.compare(offset, other.offset);
  }
}
