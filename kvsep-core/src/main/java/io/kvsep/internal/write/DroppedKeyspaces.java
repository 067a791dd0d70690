package io.kvsep.internal.write;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.view.SnapshotRegistry;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Ids of keyspaces that were dropped since the store was opened, for the commit leader to refuse
 * writes to them. Ids are not used again, so nobody can have one that was dropped before. Costs one
 * volatile read as long as there is none. Thread safe; changed under the lock of the catalog.
 */
public final class DroppedKeyspaces {
  private final SnapshotRegistry snapshots;

  /** With what was visible when each was shut. */
  private final Map<Integer, Long> ids = new ConcurrentHashMap<>();

  private final Set<Integer> emptied = ConcurrentHashMap.newKeySet();
  private volatile boolean used;

  public DroppedKeyspaces(SnapshotRegistry snapshots) {
    this.snapshots = snapshots;
  }

  /** Before everything in it is deleted. */
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

  /** Whether a snapshot of that number was taken when the keyspace was shut already. */
  boolean contains(int id, long sequence) {
    Long visible = used ? ids.get(id) : null;
    return visible != null && sequence > visible;
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
    if (!request.keyspaces.isEmpty() && !Collections.disjoint(request.keyspaces, ids.keySet())) {
      return true;
    }
    return request.keyspace != Keyspaces.DEFAULT && ids.containsKey(request.keyspace);
  }
}
