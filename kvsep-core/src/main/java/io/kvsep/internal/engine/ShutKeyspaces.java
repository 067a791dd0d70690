package io.kvsep.internal.engine;

import java.util.HashSet;
import java.util.Set;

/**
 * Ids of keyspaces that were dropped since the store was opened, for the commit leader to refuse
 * writes to them. Ids are not used again, so nobody can have one that was dropped before. Costs one
 * volatile read as long as there is none. Thread safe; changed under the lock of the catalog.
 */
final class ShutKeyspaces {
  private volatile Set<Integer> ids = Set.of();

  void add(int id) {
    Set<Integer> copy = new HashSet<>(ids);
    copy.add(id);
    ids = Set.copyOf(copy);
  }

  void remove(int id) {
    Set<Integer> copy = new HashSet<>(ids);
    copy.remove(id);
    ids = Set.copyOf(copy);
  }

  boolean contains(int id) {
    Set<Integer> current = ids;
    return !current.isEmpty() && current.contains(id);
  }

  /** Whether the write goes to a keyspace that is gone. */
  boolean refuses(WriteRequest request) {
    Set<Integer> current = ids;
    if (current.isEmpty() || request.dropsKeyspace) {
      return false;
    }
    for (int keyspace : request.keyspaces) {
      if (current.contains(keyspace)) {
        return true;
      }
    }
    return current.contains(request.keyspace);
  }
}
