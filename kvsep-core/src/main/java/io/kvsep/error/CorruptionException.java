package io.kvsep.error;

/**
 * A checksum or a structure on disk does not hold. Raised instead of any wrong, empty or missing
 * answer; nothing was changed, and keys that do not lie in the damaged bytes stay readable.
 */
public final class CorruptionException extends KvException {
  private static final long serialVersionUID = 1L;

  private final String file;
  private final long offset;
  private final String expected;
  private final String found;

  /**
   * @param offset counts as 0 where what does not hold is an offset below that
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

  /** Name of the damaged file inside the store's directory. */
  public String file() {
    return file;
  }

  /** Bytes from the start of the file to the structure that does not hold. */
  public long offset() {
    return offset;
  }

  /** What a sound file holds there. */
  public String expected() {
    return expected;
  }

  /** What was there. */
  public String found() {
    return found;
  }
}
