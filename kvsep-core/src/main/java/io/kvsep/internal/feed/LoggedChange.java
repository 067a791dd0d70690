package io.kvsep.internal.feed;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One record of the log.
 *
 * @param kind as in the log
 * @param keyspace id
 * @param key without keyspace prefix; of a range delete the first key, empty for the start of the
 *     keyspace
 * @param value of a put; of a range delete the first key after the range, null for the end of the
 *     keyspace; empty for a delete
 * @param expiresAtMillis 0 if it does not expire
 * @param endsCommit whether it is the last record of its commit
 */
public record LoggedChange(
    long sequence,
    int kind,
    int keyspace,
    byte[] key,
    byte @Nullable [] value,
    long expiresAtMillis,
    boolean endsCommit) {
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
