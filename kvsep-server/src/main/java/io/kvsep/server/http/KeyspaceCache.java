package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpStatus;
import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Keyspaces by name. Never makes one that was not asked to be made. Thread safe. */
final class KeyspaceCache {
  private final KvStore store;
  private final ConcurrentHashMap<String, Keyspace> known = new ConcurrentHashMap<>();

  KeyspaceCache(KvStore store) {
    this.store = store;
  }

  List<String> names() {
    return store.keyspaces();
  }

  /** Throws when there is none of that name. */
  Keyspace existing(String name) {
    Keyspace keyspace = known.get(name);
    if (keyspace != null && viewIfPresent(keyspace) != null) {
      return keyspace;
    }
    // Whoever asks for what is not there takes no part in the waiting below.
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

  /** Null for the store's own. Throws when there is none of that name. */
  @Nullable KvView view(@Nullable String name) {
    if (name == null) {
      return null;
    }
    KvView view = viewIfKnown(name);
    return view == null ? store.in(existing(name)) : view;
  }

  /**
   * Null when it takes more to tell whether there is one of that name. Waits for nobody, where
   * {@link #existing} waits for those who make or drop one, which write and sync.
   */
  @Nullable KvView viewIfKnown(String name) {
    Keyspace keyspace = known.get(name);
    return keyspace == null ? null : viewIfPresent(keyspace);
  }

  /** Null for the store's own. Throws when there is none of that name. */
  @Nullable Keyspace orDefault(@Nullable String name) {
    return name == null ? null : existing(name);
  }

  /** Whether it was not there before. */
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

  /** It may have been dropped behind our back, by another listener of the same store. */
  private @Nullable KvView viewIfPresent(Keyspace keyspace) {
    try {
      return store.in(keyspace);
    } catch (IllegalStateException e) {
      return null;
    }
  }
}
