package io.kvsep.error;

/**
 * A checksum or a structure on disk is invalid. Thrown instead of any wrong, empty or missing
 * result. Nothing was changed; keys outside the damaged bytes stay readable.
 */
public final class CorruptionException extends KvException {
  private static final long serialVersionUID = 1L;

  private final String file;
  private final long offset;
  private final String expected;
  private final String found;

  /**
   * @param offset negative values, from a damaged offset, count as 0
   */
  public CorruptionException(String file, long offset, String expected, String found) {
    super(
        file + " at offset " + Math.max(0, offset) + ": expected " + expected + ", found " + found,
        null);
    this.file = file;
    this.offset = Math.max(0, offset);
    this.expected = expected;
    this.found = found;
  }

  /** Name of the damaged file in the store's directory. */
  public String file() {
    return file;
  }

  /** Byte offset of the invalid structure in the file. */
  public long offset() {
    return offset;
  }

  /** What a sound file holds there. */
  public String expected() {
    return expected;
  }

  /** What was found there. */
  public String found() {
    return found;
  }
}
