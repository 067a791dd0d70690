package io.kvsep;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One change of a store, as a {@link ChangeFeed} gives it. Immutable but for the arrays, which are
 * the caller's.
 */
public final class Change {
  /** What a change does. */
  public enum Kind {
    /** Sets a key to a value. */
    PUT,
    /** Deletes a key, which need not have been there. */
    DELETE,
    /** Deletes all keys of a range. */
    DELETE_RANGE
  }

  private final long sequence;
  private final Kind kind;
  private final int keyspaceId;
  private final @Nullable String keyspace;
  private final byte[] key;
  private final byte @Nullable [] value;
  private final long expiresAtMillis;
  private final boolean endsCommit;

  Change(
      long sequence,
      Kind kind,
      int keyspaceId,
      @Nullable String keyspace,
      byte[] key,
      byte @Nullable [] value,
      long expiresAtMillis,
      boolean endsCommit) {
    this.sequence = sequence;
    this.kind = kind;
    this.keyspaceId = keyspaceId;
    this.keyspace = keyspace;
    this.key = key;
    this.value = value;
    this.expiresAtMillis = expiresAtMillis;
    this.endsCommit = endsCommit;
  }

  /**
   * Its number in the order of all changes, which ascends, with gaps. A feed that is to go on here
   * is opened after it; what it leads to may be in the middle of what was committed together.
   */
  public long sequence() {
    return sequence;
  }

  public Kind kind() {
    return kind;
  }

  /** Number of its keyspace, which is never used for another one; 0 for the store's own. */
  public int keyspaceId() {
    return keyspaceId;
  }

  /**
   * Name of its keyspace; null for the store's own, and for one that is dropped by now, of which
   * nobody can see anything any more. Dropping a keyspace shows as the deletion of all its keys.
   */
  public @Nullable String keyspace() {
    return keyspace;
  }

  /** The key; of a range the first one, empty where the range begins with the keyspace. */
  public byte[] key() {
    return key;
  }

  /**
   * The value of a {@link Kind#PUT}.
   *
   * @throws IllegalStateException when it is none
   */
  public byte[] value() {
    byte[] present = value;
    if (kind != Kind.PUT || present == null) {
      throw new IllegalStateException("a change of kind " + kind + " has no value");
    }
    return present;
  }

  /**
   * The first key behind the range of a {@link Kind#DELETE_RANGE}, null where it ends with the
   * keyspace.
   *
   * @throws IllegalStateException when it is none
   */
  public byte @Nullable [] toKey() {
    if (kind != Kind.DELETE_RANGE) {
      throw new IllegalStateException("a change of kind " + kind + " is of one key");
    }
    return value;
  }

  /** When the value expires, in milliseconds since the epoch. Expiring is no change of its own. */
  public OptionalLong expiresAtMillis() {
    return expiresAtMillis == 0 ? OptionalLong.empty() : OptionalLong.of(expiresAtMillis);
  }

  /** Whether it is the last one of what was committed together: a batch, or a transaction. */
  public boolean endsCommit() {
    return endsCommit;
  }

  @Override
  public String toString() {
    return "change " + sequence + ": " + kind + " of " + key.length + " bytes of key";
  }
}
