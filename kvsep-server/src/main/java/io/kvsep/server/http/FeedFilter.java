package io.kvsep.server.http;

import io.kvsep.Change;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

final class FeedFilter {
  private static final int ANY_KEYSPACE = -1;

  private final int keyspaceId;
  private final byte @Nullable [] prefix;
  private final byte @Nullable [] prefixEnd;

  /**
   * @param keyspaceId null for all keyspaces
   * @param prefix prefix of keys, null for all
   */
  FeedFilter(@Nullable Integer keyspaceId, byte @Nullable [] prefix) {
    this.keyspaceId = keyspaceId == null ? ANY_KEYSPACE : keyspaceId;
    this.prefix = prefix;
    this.prefixEnd = prefix == null ? null : Scans.firstKeyAfter(prefix);
  }

  boolean takesAll() {
    return keyspaceId == ANY_KEYSPACE && prefix == null;
  }

  /** For a range deletion, whether the range may contain matching keys. */
  boolean matches(Change change) {
    if (keyspaceId != ANY_KEYSPACE && keyspaceId != change.keyspaceId()) {
      return false;
    }
    byte[] wanted = prefix;
    if (wanted == null) {
      return true;
    }
    byte[] key = change.key();
    if (change.kind() != Change.Kind.DELETE_RANGE) {
      return key.length >= wanted.length
          && Arrays.equals(key, 0, wanted.length, wanted, 0, wanted.length);
    }
    byte[] to = change.toKey();
    return (to == null || Arrays.compareUnsigned(to, wanted) > 0)
        && (prefixEnd == null || Arrays.compareUnsigned(key, prefixEnd) < 0);
  }

  /** Whether the change drops the feed's keyspace, after which no change can follow. */
  boolean endsWith(Change change) {
    return keyspaceId == change.keyspaceId()
        && change.kind() == Change.Kind.DELETE_RANGE
        && change.key().length == 0
        && change.toKey() == null;
  }
}
