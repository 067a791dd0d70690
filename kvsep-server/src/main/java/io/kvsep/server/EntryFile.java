package io.kvsep.server;

import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Entries in a file of some format, one after the other. */
interface EntryFile {
  /** What one entry of a file is that cannot be taken, and where; the next one may be sound. */
  final class BadEntryException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String where;

    BadEntryException(String where, String why) {
      super(why);
      this.where = where;
    }

    /** Such as "line 12". */
    String where() {
      return where;
    }

    String why() {
      return String.valueOf(getMessage());
    }
  }

  /** Longest key of a store. */
  int KEY_BYTES_MAX = 65_535;

  /** Throws when no store takes the key. */
  static void checkKey(String where, byte[] key) throws BadEntryException {
    if (key.length == 0) {
      throw new BadEntryException(where, "the key is empty");
    }
    if (key.length > KEY_BYTES_MAX) {
      throw new BadEntryException(
          where, "the key has " + key.length + " bytes, the limit is " + KEY_BYTES_MAX);
    }
  }

  /**
   * The next entry, null behind the last.
   *
   * @throws BadEntryException when there is one that does not hold; the file can be read on
   * @throws IOException when it cannot be read on
   */
  Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException;
}
