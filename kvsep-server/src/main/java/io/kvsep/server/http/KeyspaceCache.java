package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpStatus;
import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Keyspaces by name. Creates a keyspace only in {@link #create}. Thread safe. */
final class KeyspaceCache {
  private final KvStore store;
  private final ConcurrentHashMap<String, Keyspace> known = new ConcurrentHashMap<>();

  KeyspaceCache(KvStore store) {
    this.store = store;
  }

  List<String> names() {
    return store.keyspaces();
  }

  /** Throws if there is no keyspace of that name. */
  Keyspace existing(String name) {
    Keyspace keyspace = known.get(name);
    if (keyspace != null && viewIfPresent(keyspace) != null) {
      return keyspace;
    }
    // Requests for unknown names are refused without waiting for the lock.
    requireThere(name);
    synchronized (this) {
      known.remove(name);
      requireThere(name);
      Keyspace opened = store.keyspace(name);
      known.put(name, opened);
      return opened;
    }
  }

  private void requireThere(String name) {
    if (!store.keyspaces().contains(name)) {
      throw Problem.of(HttpStatus.NOT_FOUND, "no-such-keyspace", "no such keyspace: " + name);
    }
  }

  /** Null for the default keyspace. Throws if there is no keyspace of that name. */
  @Nullable KvView view(@Nullable String name) {
    if (name == null) {
      return null;
    }
    KvView view = viewIfKnown(name);
    return view == null ? store.in(existing(name)) : view;
  }

  /**
   * Null if the keyspace is not cached. Never blocks, unlike {@link #existing}, which waits while a
   * keyspace is created or dropped, which writes and syncs.
   */
  @Nullable KvView viewIfKnown(String name) {
    Keyspace keyspace = known.get(name);
    return keyspace == null ? null : viewIfPresent(keyspace);
  }

  /** Null for the default keyspace. Throws if there is no keyspace of that name. */
  @Nullable Keyspace orDefault(@Nullable String name) {
    return name == null ? null : existing(name);
  }

  /** Returns whether the keyspace is new. */
  synchronized boolean create(String name) {
    boolean isNew = !store.keyspaces().contains(name);
    known.put(name, store.keyspace(name));
    return isNew;
  }

  synchronized void drop(String name) {
    Keyspace keyspace = existing(name);
    known.remove(name);
    store.dropKeyspace(keyspace);
  }

  /** Null if another listener of the same store has dropped the keyspace. */
  private @Nullable KvView viewIfPresent(Keyspace keyspace) {
    try {
      return store.in(keyspace);
    } catch (IllegalStateException e) {
      return null;
    }
  }
}
