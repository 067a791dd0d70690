package io.kvsep.server.redis;

/** A range of indexes, both inclusive; empty if the first is greater. */
record Span(long from, long to) {
  private static final Span NONE = new Span(0, -1);

  /** Resolves two indexes of a command; negative ones count from the end. */
  static Span of(long start, long end, long length) {
    long from = Math.max(0, start < 0 ? start + length : start);
    long to = Math.min(length - 1, Math.max(0, end < 0 ? end + length : end));
    return new Span(from, to);
  }

  /** As {@link #of}, but empty if both count from the end and are out of order. */
  static Span inOrder(long start, long end, long length) {
    return start < 0 && end < 0 && start > end ? NONE : of(start, end, length);
  }

  boolean isEmpty() {
    return from > to;
  }

  /** Converts a span of bytes to bits. */
  Span inBits() {
    return isEmpty() ? NONE : new Span(8 * from, 8 * to + 7);
  }
}
