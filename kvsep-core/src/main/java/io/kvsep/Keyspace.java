package io.kvsep;

import io.kvsep.internal.engine.StorageEngine;

/**
 * An ordered namespace in a store: the same key may exist in several keyspaces. Obtained from
 * {@link KvStore#keyspace} and used with {@link KvStore#in}, {@link Snapshot#in} and {@link
 * WriteBatch#in} of the same store. A batch may write to several keyspaces atomically.
 *
 * <p>Immutable and thread safe. An unused keyspace costs nothing; a used one costs one to five
 * bytes per key.
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

  /** {@return the name of the keyspace} */
  public String name() {
    return name;
  }

  /** {@return the id, which is never reused; see {@link Change#keyspaceId}} */
  public int id() {
    return id;
  }

  /** Returns the id; throws if this keyspace belongs to another store. */
  int idIn(StorageEngine store) {
    if (engine != store) {
      throw new IllegalArgumentException("keyspace " + name + " belongs to another store");
    }
    return id;
  }

  /** Equal if both denote the same keyspace of the same open store. */
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
