package io.kvsep.internal.write;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.view.SnapshotRegistry;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Ids of keyspaces dropped since the store was opened, to which the commit leader refuses writes.
 * Ids are never reused. Costs one volatile read until the first drop. Thread safe; changed under
 * the catalog's lock.
 */
public final class DroppedKeyspaces {
  private final SnapshotRegistry snapshots;

  /** Id to the sequence number visible at the drop. */
  private final Map<Integer, Long> ids = new ConcurrentHashMap<>();

  private final Set<Integer> emptied = ConcurrentHashMap.newKeySet();
  private volatile boolean used;

  public DroppedKeyspaces(SnapshotRegistry snapshots) {
    this.snapshots = snapshots;
  }

  /** Call before the keyspace's entries are deleted. */
  void add(int id) {
    ids.put(id, snapshots.visibleSequence());
    used = true;
  }

  void remove(int id) {
    ids.remove(id);
  }

  boolean contains(int id) {
    return used && ids.containsKey(id);
  }

  /** Whether the keyspace was dropped before a snapshot at {@code sequence} was taken. */
  boolean contains(int id, long sequence) {
    Long visible = used ? ids.get(id) : null;
    return visible != null && sequence > visible;
  }

  void addEmptied(int id) {
    emptied.add(id);
  }

  /** Whether everything in it is durably deleted. Until then the drop may fail and be undone. */
  boolean isEmptied(int id) {
    return used && emptied.contains(id);
  }

  boolean refuses(WriteRequest request) {
    if (!used || request.dropsKeyspace) {
      return false;
    }
    // Avoids an iterator for single writes.
    if (!request.keyspaces.isEmpty() && !Collections.disjoint(request.keyspaces, ids.keySet())) {
      return true;
    }
    return request.keyspace != Keyspaces.DEFAULT && ids.containsKey(request.keyspace);
  }
}
