package io.kvsep;

import java.util.HexFormat;
import java.util.List;

/**
 * What a call of {@link KvStore#repair} restored, and what it could not. Immutable.
 *
 * @param manifestUsed whether the manifest determined the files of the store; if not, all tables
 *     and log files in the directory were used
 * @param files tables and log files that were read completely
 * @param bytes total length of these files
 * @param keys keys in the new store
 * @param valueBytes bytes of their values
 * @param lossCount number of losses
 * @param losses the losses in the order they were found, at most 10,000
 * @param uncertainCount number of uncertain keys
 * @param uncertain the uncertain keys in order, at most 10,000
 * @param notes sentences with further information about the result
 * @param seconds duration
 */
public record RepairReport(
    boolean manifestUsed,
    long files,
    long bytes,
    long keys,
    long valueBytes,
    long lossCount,
    List<Loss> losses,
    long uncertainCount,
    List<UncertainKey> uncertain,
    List<String> notes,
    double seconds) {

  /**
   * Bytes of the damaged store that are invalid.
   *
   * @param file name of the file in the damaged directory
   * @param from offset of the first invalid byte
   * @param to offset after the last invalid byte, approximate if not known
   * @param what the expected content, and what was found instead
   * @param keyspace of the key; empty for the store's own, and if no key is known
   * @param keyHex the key whose value was there, in hexadecimal; empty if not known
   */
  public record Loss(String file, long from, long to, String what, String keyspace, String keyHex) {
    /** {@return the key; empty if not known} */
    public byte[] key() {
      return HexFormat.of().parseHex(keyHex);
    }

    @Override
    public String toString() {
      String of = keyspace.isEmpty() ? "" : " of keyspace " + keyspace;
      String key = keyHex.isEmpty() ? "" : ", key " + keyHex + of;
      return file + " from offset " + from + " to " + to + key + ": " + what;
    }
  }

  /**
   * A key that was found, but whose newer write may be among the lost data.
   *
   * @param keyspace its keyspace, empty for the store's own
   * @param keyHex the key in hexadecimal
   * @param restored whether the newest value found is in the new store; if not, the tables say that
   *     the key was deleted, and only an old part of the log contradicts
   */
  public record UncertainKey(String keyspace, String keyHex, boolean restored) {
    /** {@return the key} */
    public byte[] key() {
      return HexFormat.of().parseHex(keyHex);
    }

    @Override
    public String toString() {
      return keyHex
          + (keyspace.isEmpty() ? "" : " of keyspace " + keyspace)
          + (restored ? ": restored, but may be out of date" : ": left out, probably deleted");
    }
  }

  /** Copies the lists. */
  public RepairReport {
    losses = List.copyOf(losses);
    uncertain = List.copyOf(uncertain);
    notes = List.copyOf(notes);
  }

  /** {@return whether nothing is lost and nothing is uncertain} */
  public boolean isComplete() {
    return lossCount == 0 && uncertainCount == 0;
  }
}
