package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One database as a command sees it: in the current state of the store, in a snapshot or
 * transaction, or as part of a batch.
 */
interface Entries {
  /** Expiry of an entry that does not expire. */
  long NEVER = 0;

  /** Number of databases. */
  int DATABASES = 16;

  byte @Nullable [] get(byte[] key);

  default byte[] getOrEmpty(byte[] key) {
    byte[] value = get(key);
    return value == null ? new byte[0] : value;
  }

  /** Whether the key has this value. Reads no value of another length. */
  default boolean has(byte[] key, byte[] value) {
    EntryInfo info = info(key);
    if (info == null || info.valueLength() != value.length) {
      return false;
    }
    Boolean same = read(key, view -> view.equals(ByteBuffer.wrap(value)));
    return same != null && same;
  }

  boolean contains(byte[] key);

  @Nullable EntryInfo info(byte[] key);

  List<byte @Nullable []> getAll(List<byte[]> keys);

  <R> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader);

  KvCursor cursor(ScanOptions options);

  /**
   * Sets the key.
   *
   * @param expiresAtMillis {@link #NEVER} or a positive time
   */
  void put(byte[] key, byte[] value, long expiresAtMillis);

  void delete(byte[] key);

  void clear();

  /** Returns the expiry of an entry, {@link #NEVER} if it has none or is absent. */
  static long expiry(@Nullable EntryInfo info) {
    return info == null ? NEVER : info.expiresAtMillis().orElse(NEVER);
  }

  /** The databases, all in the same state of the store or transaction. */
  interface Spaces {
    Entries at(int database);
  }
}
