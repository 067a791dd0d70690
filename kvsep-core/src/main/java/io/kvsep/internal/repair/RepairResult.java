package io.kvsep.internal.repair;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a repair did.
 *
 * @param manifestUsed whether the manifest said which files are in force
 * @param files that were read, tables and files of the log
 * @param bytes of these
 * @param keys in the new store
 * @param valueBytes of their values
 * @param lossCount how many losses there are
 * @param losses the first of them
 * @param uncertainCount how many keys are uncertain
 * @param uncertain the first of them
 * @param notes what else has to be known
 */
public record RepairResult(
    boolean manifestUsed,
    long files,
    long bytes,
    long keys,
    long valueBytes,
    long lossCount,
    List<Loss> losses,
    long uncertainCount,
    List<UncertainKey> uncertain,
    List<String> notes) {

  /**
   * Bytes that do not hold, or the value of a key that is in such bytes.
   *
   * @param what was there
   * @param key null when it is not known
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Loss(
      String file, long from, long to, String what, String keyspace, byte @Nullable [] key) {}

  /**
   * A key of which a newer write may be lost.
   *
   * @param restored whether the newest value that was found is in the new store
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record UncertainKey(String keyspace, byte[] key, boolean restored) {}
}
