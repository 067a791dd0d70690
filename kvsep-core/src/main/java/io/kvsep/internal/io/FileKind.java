package io.kvsep.internal.io;

/**
 * What the header of a kind of file says, and its name in messages.
 *
 * @param magic eight ASCII characters that begin with "kvsep" in either case
 * @param versionMin oldest format version read
 * @param version format version written
 * @param noun with its article, for messages
 */
public record FileKind(String magic, int versionMin, int version, String noun) {
  public long magicNumber() {
    return littleEndian(magic);
  }

  /** Up to eight ASCII characters as a little-endian number. */
  public static long littleEndian(String text) {
    long value = 0;
    for (int i = 0; i < text.length(); i++) {
      value |= (long) text.charAt(i) << (8 * i);
    }
    return value;
  }
}
