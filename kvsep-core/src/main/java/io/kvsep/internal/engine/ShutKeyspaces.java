package io.kvsep.internal.engine;

import io.kvsep.internal.base.Keyspaces;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Ids of keyspaces that were dropped since the store was opened, for the commit leader to refuse
 * writes to them. Ids are not used again, so nobody can have one that was dropped before. Costs one
 * volatile read as long as there is none. Thread safe; changed under the lock of the catalog.
 */
final class ShutKeyspaces {
  private final Set<Integer> ids = ConcurrentHashMap.newKeySet();
  private final Set<Integer> emptied = ConcurrentHashMap.newKeySet();
  private volatile boolean used;

  void add(int id) {
    ids.add(id);
    used = true;
  }

  void remove(int id) {
    ids.remove(id);
  }

  boolean contains(int id) {
    return used && ids.contains(id);
  }

  /** Everything in a keyspace that is shut is deleted, durably. */
  void addEmptied(int id) {
    emptied.add(id);
  }

  /** Whether it is. Until then dropping it may fail, and the keyspace goes on as it was. */
  boolean isEmptied(int id) {
    return used && emptied.contains(id);
  }

  /** Whether the write goes to a keyspace that is gone. */
  boolean refuses(WriteRequest request) {
    if (!used || request.dropsKeyspace) {
      return false;
    }
    // Most writes are single ones: no iterator for these.
    if (!request.keyspaces.isEmpty() && !Collections.disjoint(request.keyspaces, ids)) {
      return true;
    }
    return request.keyspace != Keyspaces.DEFAULT && ids.contains(request.keyspace);
  }
}
