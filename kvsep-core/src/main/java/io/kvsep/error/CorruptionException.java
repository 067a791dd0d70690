package io.kvsep.error;

/**
 * A checksum or structure on disk is invalid. Thrown instead of any wrong, empty or missing result.
 * Nothing was changed; keys outside the damaged bytes stay readable.
 */
public final class CorruptionException extends KvException {
  private static final long serialVersionUID = 1L;

  /** Name of the file. */
  private final String file;

  /** Where in the file. */
  private final long offset;

  /** What a sound file holds there. */
  private final String expected;

  /** What was found there. */
  private final String found;

  /**
   * Creates the exception.
   *
   * @param file name of the file
   * @param offset a negative value, from a damaged offset, counts as 0
   * @param expected what a sound file holds there
   * @param found what was found there
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

  /** {@return name of the damaged file in the store's directory} */
  public String file() {
    return file;
  }

  /** {@return byte offset of the invalid structure in the file} */
  public long offset() {
    return offset;
  }

  /** {@return what a sound file holds there} */
  public String expected() {
    return expected;
  }

  /** {@return what was found there} */
  public String found() {
    return found;
  }
}
