package io.kvsep.internal.feed;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One record of the log.
 *
 * @param kind as in the log
 * @param keyspace id of the keyspace
 * @param key without the prefix of the keyspace; of a deleted range its first key, which is empty
 *     where it begins with the keyspace
 * @param value of a put; of a deleted range the first key behind it, null where it ends with the
 *     keyspace; empty for a delete
 * @param expiresAtMillis 0 when it does not expire
 * @param endsCommit whether it is the last one of what was committed together
 */
public record LoggedChange(
    long sequence,
    int kind,
    int keyspace,
    byte[] key,
    byte @Nullable [] value,
    long expiresAtMillis,
    boolean endsCommit) {
  /** Of what the log holds. */
  static LoggedChange of(
      long sequence,
      int kind,
      byte[] storedKey,
      byte[] value,
      long expiresAtMillis,
      boolean endsCommit) {
    int keyspace = Keyspaces.of(storedKey);
    return new LoggedChange(
        sequence,
        kind,
        keyspace,
        userKey(keyspace, storedKey),
        kind == Tag.RANGE_DELETE && Keyspaces.of(value) != keyspace
            ? null
            : kind == Tag.RANGE_DELETE ? userKey(keyspace, value) : value,
        expiresAtMillis,
        endsCommit);
  }

  private static byte[] userKey(int keyspace, byte[] stored) {
    return Arrays.copyOfRange(stored, Keyspaces.prefixLength(keyspace), stored.length);
  }
}
