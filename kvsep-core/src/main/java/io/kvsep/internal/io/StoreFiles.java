package io.kvsep.internal.io;

/**
 * The only class that creates and parses names of a store's files.
 *
 * <pre>
 * CURRENT            names the current manifest
 * LOCK               locked while the store is open
 * MANIFEST-000001    manifest number 1
 * 000001.vlog        segment 1 of the value log
 * 000001.sst         table number 1
 * CURRENT.tmp        any of these names and ".tmp": being written, worthless after a crash
 * </pre>
 *
 * <p>Numbers have at least six digits and exactly one spelling, so two names never mean the same
 * file. A file spelled otherwise is not the store's and is left alone.
 */
public final class StoreFiles {
  public static final String CURRENT = "CURRENT";
  public static final String LOCK = "LOCK";
  public static final String CURRENT_TEMPORARY = "CURRENT.tmp";

  private static final String MANIFEST_PREFIX = "MANIFEST-";
  private static final String SEGMENT_SUFFIX = ".vlog";
  private static final String TABLE_SUFFIX = ".sst";
  private static final String TEMPORARY_SUFFIX = ".tmp";
  private static final int DIGITS_MIN = 6;

  private StoreFiles() {}

  public enum Kind {
    CURRENT,
    LOCK,
    MANIFEST,
    SEGMENT,
    TABLE,
    TEMPORARY,
    OTHER
  }

  public static String segment(long id) {
    return digits(id) + SEGMENT_SUFFIX;
  }

  public static String table(long number) {
    return digits(number) + TABLE_SUFFIX;
  }

  public static String manifest(long number) {
    return MANIFEST_PREFIX + digits(number);
  }

  /** Name of a file that is written before it is renamed to {@code name}. */
  public static String temporary(String name) {
    return name + TEMPORARY_SUFFIX;
  }

  public static Kind kindOf(String name) {
    if (name.endsWith(TEMPORARY_SUFFIX)) {
      Kind whole = finishedKindOf(name.substring(0, name.length() - TEMPORARY_SUFFIX.length()));
      return whole == Kind.OTHER ? Kind.OTHER : Kind.TEMPORARY;
    }
    return finishedKindOf(name);
  }

  /** The number in the name of a manifest, segment or table. */
  public static long numberOf(String name) {
    long number = parse(numberPart(name, finishedKindOf(name)));
    if (number < 0) {
      throw new IllegalArgumentException("no number in file name: " + name);
    }
    return number;
  }

  /** Rejects names that could refer to a file outside the directory. */
  public static String requirePlain(String name) {
    if (name.isEmpty() || name.equals(".") || name.equals("..")) {
      throw new IllegalArgumentException("not a plain file name: \"" + name + "\"");
    }
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c == '/' || c == '\\' || c == ':' || c == 0) {
        throw new IllegalArgumentException("not a plain file name: \"" + name + "\"");
      }
    }
    return name;
  }

  private static Kind finishedKindOf(String name) {
    if (name.equals(CURRENT)) {
      return Kind.CURRENT;
    }
    if (name.equals(LOCK)) {
      return Kind.LOCK;
    }
    Kind kind;
    if (name.startsWith(MANIFEST_PREFIX)) {
      kind = Kind.MANIFEST;
    } else if (name.endsWith(SEGMENT_SUFFIX)) {
      kind = Kind.SEGMENT;
    } else if (name.endsWith(TABLE_SUFFIX)) {
      kind = Kind.TABLE;
    } else {
      return Kind.OTHER;
    }
    return parse(numberPart(name, kind)) < 0 ? Kind.OTHER : kind;
  }

  private static String numberPart(String name, Kind kind) {
    return switch (kind) {
      case MANIFEST -> name.substring(MANIFEST_PREFIX.length());
      case SEGMENT -> name.substring(0, name.length() - SEGMENT_SUFFIX.length());
      case TABLE -> name.substring(0, name.length() - TABLE_SUFFIX.length());
      case CURRENT, LOCK, TEMPORARY, OTHER -> "";
    };
  }

  /** -1 unless the digits are exactly those that {@link #digits} produces. */
  private static long parse(String digits) {
    if (digits.length() < DIGITS_MIN || (digits.length() > DIGITS_MIN && digits.charAt(0) == '0')) {
      return -1;
    }
    long number = 0;
    for (int i = 0; i < digits.length(); i++) {
      // Character.digit accepts the digits of every script.
      int digit = digits.charAt(i) - '0';
      if (digit < 0 || digit > 9 || number > (Long.MAX_VALUE - digit) / 10) {
        return -1;
      }
      number = number * 10 + digit;
    }
    return number;
  }

  /** String.format would use the digits of the default locale. */
  private static String digits(long number) {
    if (number < 0) {
      throw new IllegalArgumentException("negative file number: " + number);
    }
    String digits = Long.toString(number);
    return "0".repeat(Math.max(0, DIGITS_MIN - digits.length())) + digits;
  }
}
