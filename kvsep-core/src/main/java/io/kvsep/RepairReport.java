package io.kvsep;

import java.util.HexFormat;
import java.util.List;

/**
 * What a call of {@link KvStore#repair} restored, and what it could not. Immutable.
 *
 * @param manifestUsed whether the manifest told which files were part of the store; without it all
 *     tables and files of the log in the directory were used
 * @param files tables and files of the log that were read as a whole
 * @param bytes bytes of these
 * @param keys keys in the new store
 * @param valueBytes bytes of their values
 * @param lossCount how many losses there are
 * @param losses the losses in the order they were found, at most 10,000 of them
 * @param uncertainCount how many keys are uncertain
 * @param uncertain the uncertain keys in order, at most 10,000 of them
 * @param notes sentences that say what else has to be known about the result
 * @param seconds how long it took
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
   * Bytes of the damaged store that do not hold.
   *
   * @param file name of the file inside the damaged directory
   * @param from offset of the first of them
   * @param to offset behind the last of them, about, where that is not known
   * @param what was there, and what was found instead
   * @param keyspace of the key, empty for the store's own, and where no key is known
   * @param keyHex the key whose value was there, in hexadecimal digits; empty when it is not known
   */
  public record Loss(String file, long from, long to, String what, String keyspace, String keyHex) {
    /** The key, of no bytes when it is not known. */
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
   * A key of which something was found, and of which a newer write may be among what is lost.
   *
   * @param keyspace its keyspace, empty for the store's own
   * @param keyHex the key in hexadecimal digits
   * @param restored whether the newest value that was found is in the new store; if not, the tables
   *     say that the key was deleted, and only an old part of the log says otherwise
   */
  public record UncertainKey(String keyspace, String keyHex, boolean restored) {
    /** The key. */
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

  public RepairReport {
    losses = List.copyOf(losses);
    uncertain = List.copyOf(uncertain);
    notes = List.copyOf(notes);
  }

  /** Whether nothing is lost and nothing uncertain. */
  public boolean isComplete() {
    return lossCount == 0 && uncertainCount == 0;
  }
}
