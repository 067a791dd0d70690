package io.kvsep.internal.repair;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a repair did; the components are those of {@code RepairReport}. */
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
   * Bytes of a file that are lost.
   *
   * @param what the expected content
   * @param key null if unknown
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  public record Loss(
      String file, long from, long to, String what, String keyspace, byte @Nullable [] key) {}

  /**
   * A key whose newest value may be lost.
   *
   * @param restored whether the newest value found is in the new store
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  public record UncertainKey(String keyspace, byte[] key, boolean restored) {}
}
