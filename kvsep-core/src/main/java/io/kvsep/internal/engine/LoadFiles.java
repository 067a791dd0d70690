package io.kvsep.internal.engine;

import io.kvsep.internal.io.Storage;
import java.io.IOException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Files of a bulk load to which nothing refers yet, from before they are made; {@link #close}
 * deletes those that are there. Any thread may add and look, one at a time does the rest.
 */
final class LoadFiles implements AutoCloseable {
  private final Storage storage;
  private final Set<String> names = ConcurrentHashMap.newKeySet();

  LoadFiles(Storage storage) {
    this.storage = storage;
  }

  void add(String name) {
    names.add(name);
  }

  Set<String> names() {
    return Set.copyOf(names);
  }

  /** Deletes some of them now. */
  void delete(Collection<String> some) {
    names.removeAll(some);
    some.forEach(this::delete);
  }

  /** They belong to somebody else from now on. */
  void handOver() {
    names.clear();
  }

  @Override
  public void close() {
    names.forEach(this::delete);
    names.clear();
  }

  private void delete(String name) {
    try {
      storage.delete(name);
    } catch (IOException e) {
      // It is gone already, or stays as an orphan; the next open removes it.
      return;
    }
  }
}
