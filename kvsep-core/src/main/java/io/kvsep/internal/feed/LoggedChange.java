package io.kvsep.internal.feed;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One record of the log.
 *
 * @param kind see {@link Tag}
 * @param key user key; the start of a range delete, empty for the start of the keyspace
 * @param value empty for a delete; the exclusive end of a range delete, null for the end of the
 *     keyspace
 * @param expiresAtMillis 0 for no expiry
 * @param endsCommit whether the record is the last of its commit
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
