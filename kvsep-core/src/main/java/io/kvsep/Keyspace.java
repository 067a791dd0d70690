package io.kvsep;

import io.kvsep.internal.engine.StorageEngine;

/**
 * An ordered namespace of its own in a store: the same key may stand in several keyspaces. Got from
 * {@link KvStore#keyspace}, used through {@link KvStore#in}, {@link Snapshot#in} and {@link
 * WriteBatch#in}, in the store it came from. Writes to several keyspaces in one batch are atomic.
 *
 * <p>Immutable and thread safe. Costs nothing while it is not used, and one to five bytes a key.
 */
public final class Keyspace {
  private final StorageEngine engine;
  private final int id;
  private final String name;

  Keyspace(StorageEngine engine, int id, String name) {
    this.engine = engine;
    this.id = id;
    this.name = name;
  }

  /** The name it was made with. */
  public String name() {
    return name;
  }

  /** Its number, which is never used for another one: see {@link Change#keyspaceId}. */
  public int id() {
    return id;
  }

  /** Throws unless this keyspace is one of {@code store}'s. */
  int idIn(StorageEngine store) {
    if (engine != store) {
      throw new IllegalArgumentException("keyspace " + name + " belongs to another store");
    }
    return id;
  }

  /** Two are equal when they mean the same keyspace of the same open store. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Keyspace that && engine == that.engine && id == that.id;
  }

  @Override
  public int hashCode() {
    return id;
  }

  @Override
  public String toString() {
    return "keyspace " + name;
  }
}
