package io.kvsep.internal.base;

/**
 * The eight bytes that follow a key everywhere in the index: {@code sequence << 8 | kind}. Entries
 * of one key are ordered by descending tag, so the newest comes first. Sequence numbers are unique,
 * the kind therefore never decides an order.
 *
 * <p>Kinds are persisted: never change or reuse a number. Zero is no kind, so that zeroed bytes are
 * recognised as damage.
 */
public final class Tag {
  /** The key is absent from this sequence number on. */
  public static final int DELETE = 1;

  /** The payload is the value. */
  public static final int PUT = 2;

  /** The payload is a pointer into the value log. */
  public static final int POINTER = 3;

  /**
   * Every key from one to another is absent from this sequence number on. A kind of log records;
   * memtables and tables keep these apart from their entries.
   */
  public static final int RANGE_DELETE = 4;

  /** Flag beside {@link #PUT} and {@link #POINTER}: eight bytes of expiry precede the payload. */
  public static final int EXPIRES = 0x10;

  /** Tag that sorts before every entry of a key. */
  public static final long MAX = Long.MAX_VALUE;

  private Tag() {}

  public static long of(long sequence, int kind) {
    return sequence << 8 | kind;
  }

  public static long sequence(long tag) {
    return tag >>> 8;
  }

  /** The kind with its flags. */
  public static int kind(long tag) {
    return (int) tag & 0xff;
  }

  /** The kind without its flags. */
  public static int baseKind(int kind) {
    return kind & ~EXPIRES;
  }

  public static boolean expires(int kind) {
    return (kind & EXPIRES) != 0;
  }

  /** Whether a byte read from a file is the kind of an entry of the index. */
  public static boolean isKnown(int kind) {
    return kind == DELETE || baseKind(kind) == PUT || baseKind(kind) == POINTER;
  }

  /** A tag that finds the newest entry at or below {@code sequence}. */
  public static long seek(long sequence) {
    return sequence << 8 | 0xff;
  }
}
