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
    if (keyspace != null && isPresent(keyspace)) {
      return keyspace;
    }
    synchronized (this) {
      known.remove(name);
      if (!store.keyspaces().contains(name)) {
        throw Problem.of(HttpStatus.NOT_FOUND, "no-such-keyspace", "no such keyspace: " + name);
      }
      Keyspace opened = store.keyspace(name);
      known.put(name, opened);
      return opened;
    }
  }

  @Nullable KvView view(@Nullable String name) {
    return name == null ? null : store.in(existing(name));
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
  private boolean isPresent(Keyspace keyspace) {
    try {
      store.in(keyspace);
      return true;
    } catch (IllegalStateException e) {
      return false;
    }
  }
}
