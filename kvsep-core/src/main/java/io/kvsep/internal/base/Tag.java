package io.kvsep.internal.base;

/**
 * The eight bytes after each key in the index: {@code sequence << 8 | kind}. Entries of a key are
 * sorted by descending tag, newest first. Sequence numbers are unique within a version, so the kind
 * never decides.
 *
 * <p>Kinds are persistent: never change or reuse a number. Zero is no kind, so zeroed bytes are
 * damage.
 */
public final class Tag {
  /** The key is absent from this sequence number on. */
  public static final int DELETE = 1;

  /** The payload is the value. */
  public static final int PUT = 2;

  /** The payload is a pointer into the value log. */
  public static final int POINTER = 3;

  /**
   * A range of keys is absent from this sequence number on. Only in log records; memtables and
   * tables store range deletes apart from entries.
   */
  public static final int RANGE_DELETE = 4;

  /** Flag of {@link #PUT} and {@link #POINTER}: eight bytes of expiry precede the payload. */
  public static final int EXPIRES = 0x10;

  /** Sorts before every entry of a key. */
  public static final long MAX = Long.MAX_VALUE;

  private Tag() {}

  public static long of(long sequence, int kind) {
    return sequence << 8 | kind;
  }

  public static long sequence(long tag) {
    return tag >>> 8;
  }

  public static int kind(long tag) {
    return (int) tag & 0xff;
  }

  /** Without flags. */
  public static int baseKind(int kind) {
    return kind & ~EXPIRES;
  }

  public static boolean expires(int kind) {
    return (kind & EXPIRES) != 0;
  }

  /** Whether an index entry may have this kind. */
  public static boolean isKnown(int kind) {
    return kind == DELETE || baseKind(kind) == PUT || baseKind(kind) == POINTER;
  }

  /** Seeks the newest entry at or below {@code sequence}. */
  public static long seek(long sequence) {
    return sequence << 8 | 0xff;
  }
}
