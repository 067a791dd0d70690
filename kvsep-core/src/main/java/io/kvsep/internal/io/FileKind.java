package io.kvsep.internal.io;

/**
 * One kind of file that a store has.
 *
 * @param magic eight ASCII characters, the first five of which are those of kvsep
 * @param versionMin the oldest format version that is still read
 * @param version the one that is written
 * @param noun with its article, for messages
 */
public record FileKind(String magic, int versionMin, int version, String noun) {
  /** The magic as it is read from a file, a little-endian number. */
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
