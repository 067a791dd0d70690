package io.kvsep.server.cli;

import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the entries of a file in some format. */
interface EntryFile {
  /** One invalid entry and its place; the next one may be valid. */
  final class BadEntryException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String where;

    BadEntryException(String where, String why) {
      super(why);
      this.where = where;
    }

    /** The place, such as "line 12". */
    String where() {
      return where;
    }

    String why() {
      return String.valueOf(getMessage());
    }
  }

  /** Longest key of a store. */
  int KEY_BYTES_MAX = 65_535;

  /** Throws if the key is not a valid key of a store. */
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
   * Returns the next entry, null after the last.
   *
   * @throws BadEntryException if the entry is invalid; reading can continue
   * @throws IOException if reading cannot continue
   */
  Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException;

  /** The keyspace that the last entry names; null if it names none. */
  default @Nullable String keyspace() {
    return null;
  }
}
