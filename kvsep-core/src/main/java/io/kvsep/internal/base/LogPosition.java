package io.kvsep.internal.base;

/**
 * A position in the value log, ordered as the log is written.
 *
 * @param segment logical id, from 1; 0 is before all segments
 * @param offset bytes from the start of the segment
 */
public record LogPosition(long segment, long offset) implements Comparable<LogPosition> {
  public static final LogPosition START = new LogPosition(0, 0);

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
