package io.kvsep;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One change of a store, as returned by a {@link ChangeFeed}. Immutable except for the arrays,
 * which belong to the caller.
 */
public final class Change {
  /** The kinds of change. */
  public enum Kind {
    /** Sets a key to a value. */
    PUT,
    /** Deletes a key; the key need not have existed. */
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
   * {@return the same change with another number} For stores that number the changes of an inner
   * store anew, such as replicated ones. Shares the arrays.
   *
   * @param newSequence what {@link #sequence} returns
   * @param newEndsCommit what {@link #endsCommit} returns
   */
  public Change numbered(long newSequence, boolean newEndsCommit) {
    return new Change(
        newSequence, kind, keyspaceId, keyspace, key, value, expiresAtMillis, newEndsCommit);
  }

  /**
   * {@return position in the order of all changes} Sequence numbers ascend, with gaps. Pass it to
   * {@link KvStore#changes} to continue after this change; that position may be in the middle of a
   * commit.
   */
  public long sequence() {
    return sequence;
  }

  /** {@return what the change does} */
  public Kind kind() {
    return kind;
  }

  /** {@return id of the keyspace, 0 for the store's own} Ids are never reused. */
  public int keyspaceId() {
    return keyspaceId;
  }

  /**
   * {@return name of the keyspace; null for the store's own, and for a keyspace that has been
   * dropped since} Dropping a keyspace appears as the deletion of all its keys.
   */
  public @Nullable String keyspace() {
    return keyspace;
  }

  /**
   * {@return the key} For a range, its first key; empty if the range starts at the beginning of the
   * keyspace.
   */
  public byte[] key() {
    return key;
  }

  /**
   * {@return the value of a {@link Kind#PUT}}
   *
   * @throws IllegalStateException if the change is of another kind
   */
  public byte[] value() {
    byte[] present = value;
    if (kind != Kind.PUT || present == null) {
      throw new IllegalStateException("a change of kind " + kind + " has no value");
    }
    return present;
  }

  /**
   * {@return the exclusive end of a {@link Kind#DELETE_RANGE}; null if the range extends to the end
   * of the keyspace}
   *
   * @throws IllegalStateException if the change is of another kind
   */
  public byte @Nullable [] toKey() {
    if (kind != Kind.DELETE_RANGE) {
      throw new IllegalStateException("a change of kind " + kind + " is of one key");
    }
    return value;
  }

  /**
   * {@return when the value expires, in milliseconds since the epoch} Expiry itself is not a
   * change.
   */
  public OptionalLong expiresAtMillis() {
    return expiresAtMillis == 0 ? OptionalLong.empty() : OptionalLong.of(expiresAtMillis);
  }

  /** {@return whether this is the last change of its commit, such as a batch or a transaction} */
  public boolean endsCommit() {
    return endsCommit;
  }

  @Override
  public String toString() {
    return "change " + sequence + ": " + kind + " of " + key.length + " bytes of key";
  }
}
