package io.kvsep.internal.version;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.version.VersionEdit.AddedKeyspace;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The named keyspaces and the next id. Ids are never reused, so remains of a dropped keyspace
 * cannot appear in another one. Immutable.
 */
final class KeyspaceIds {
  static final KeyspaceIds NONE = new KeyspaceIds(new TreeMap<>(), Keyspaces.DEFAULT + 1);

  private final SortedMap<String, Integer> byName;
  private final int next;

  private KeyspaceIds(SortedMap<String, Integer> byName, int next) {
    this.byName = Collections.unmodifiableSortedMap(byName);
    this.next = next;
  }

  /** Unmodifiable. */
  SortedMap<String, Integer> byName() {
    return byName;
  }

  /** All ids from here on are free. */
  int next() {
    return next;
  }

  KeyspaceIds with(VersionEdit edit) {
    if (edit.addedKeyspaces().isEmpty()
        && edit.droppedKeyspaces().isEmpty()
        && edit.nextKeyspace().isEmpty()) {
      return this;
    }
    TreeMap<String, Integer> names = new TreeMap<>(byName);
    // First: an added keyspace may take the name of a dropped one.
    for (int dropped : edit.droppedKeyspaces()) {
      if (!names.values().remove(dropped)) {
        throw new IllegalStateException("no keyspace " + dropped);
      }
    }
    Set<Integer> ids = new HashSet<>();
    int free = next;
    for (AddedKeyspace added : edit.addedKeyspaces()) {
      // A snapshot adds keyspaces in name order, so their ids need not ascend.
      boolean unused = added.id() >= next && added.id() <= Keyspaces.ID_MAX && ids.add(added.id());
      if (!unused || !isName(added.name()) || names.put(added.name(), added.id()) != null) {
        throw new IllegalStateException("impossible keyspace: " + added);
      }
      free = Math.max(free, added.id() + 1);
    }
    return new KeyspaceIds(names, Math.max(free, edit.nextKeyspace().orElse(0)));
  }

  private static boolean isName(String name) {
    int length = name.getBytes(StandardCharsets.UTF_8).length;
    return length > 0 && length <= Limits.KEYSPACE_NAME_BYTES_MAX;
  }

  void addTo(VersionEdit edit) {
    for (Map.Entry<String, Integer> keyspace : byName.entrySet()) {
      edit.addKeyspace(keyspace.getValue(), keyspace.getKey());
    }
    if (next > NONE.next) {
      edit.nextKeyspace(next);
    }
  }
}
