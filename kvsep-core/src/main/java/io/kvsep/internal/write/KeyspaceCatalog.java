package io.kvsep.internal.write;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.version.BackupLineage.Restored;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The keyspaces of a store: names and ids in the manifest, entries under a key prefix.
 *
 * <p>A drop durably deletes the range before the name: after a crash in between the keyspace is
 * empty, never full without a name. The commit leader refuses other writes from before that delete
 * on.
 *
 * <p>If removing the name fails, the manifest may lack it, and a crash would lose later writes. So
 * the keyspace stays dropped; dropping it again or opening its name continues the removal.
 *
 * <p>Thread safe.
 */
public final class KeyspaceCatalog {
  private final VersionSet versions;
  private final CurrentReadState currentState;
  private final FailureState failure;
  private final StoreWrites writes;
  private final DroppedKeyspaces shut;
  private final LogTail logTail;
  private final ReentrantLock lock = new ReentrantLock();

  public KeyspaceCatalog(
      VersionSet versions,
      CurrentReadState currentState,
      FailureState failure,
      StoreWrites writes,
      DroppedKeyspaces shut,
      LogTail logTail) {
    this.versions = versions;
    this.currentState = currentState;
    this.failure = failure;
    this.writes = writes;
    this.shut = shut;
    this.logTail = logTail;
  }

  public List<String> names() {
    currentState.get();
    List<String> names = new ArrayList<>();
    versions
        .current()
        .keyspaces()
        .forEach(
            (name, id) -> {
              if (!shut.contains(id)) {
                names.add(name);
              }
            });
    return Collections.unmodifiableList(names);
  }

  /**
   * The keyspace's name; null, which callers take as final, once everything in it is durably
   * deleted.
   *
   * @param guess the likely name; null or a wrong guess costs a walk
   */
  public @Nullable String nameOf(int id, @Nullable String guess) {
    if (shut.isEmptied(id)) {
      return null;
    }
    Integer guessed = guess == null ? null : versions.current().keyspaces().get(guess);
    if (guessed != null && guessed == id) {
      return guess;
    }
    for (Map.Entry<String, Integer> keyspace : versions.current().keyspaces().entrySet()) {
      if (keyspace.getValue() == id) {
        return keyspace.getKey();
      }
    }
    return null;
  }

  /** The keyspace's id; creates it if absent. */
  public int open(String name) {
    return openAll(List.of(name)).get(0);
  }

  /** The keyspaces' ids; creates those absent with one edit. */
  public List<Integer> openAll(List<String> names) {
    names.forEach(KeyspaceCatalog::checkName);
    currentState.get();
    List<Integer> present = present(names);
    return present == null
        ? writes.maintain("cannot create a keyspace", () -> create(names))
        : present;
  }

  /** Null unless all of them exist. */
  private @Nullable List<Integer> present(List<String> names) {
    SortedMap<String, Integer> known = versions.current().keyspaces();
    List<Integer> ids = new ArrayList<>();
    for (String name : names) {
      Integer id = known.get(name);
      if (id == null || shut.contains(id)) {
        return null;
      }
      ids.add(id);
    }
    return ids;
  }

  public void drop(int id) {
    writes.maintain("cannot drop a keyspace", () -> remove(id));
  }

  private boolean remove(int id) {
    lock.lock();
    try {
      if (!versions.current().keyspaces().containsValue(id)) {
        return false;
      }
      if (!shut.isEmptied(id)) {
        empty(id);
      }
      removeName(id);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** The delete was synced, so a log that ends before it is damaged. */
  private void removeName(int id) {
    apply(new VersionEdit().dropKeyspace(id).syncedLog(logTail.durable()));
  }

  private void empty(int id) {
    shut.add(id);
    boolean deleted = false;
    try {
      writes.deleteAll(id);
      shut.addEmptied(id);
      deleted = true;
    } finally {
      if (!deleted) {
        shut.remove(id);
      }
    }
  }

  /** Runs the action while no keyspace is created or dropped. */
  public void exclusively(Runnable action) {
    lock.lock();
    try {
      action.run();
    } finally {
      lock.unlock();
    }
  }

  /** Refuses writes to a keyspace that another edit removed. */
  public void dropped(int id) {
    shut.add(id);
    shut.addEmptied(id);
  }

  /** Throws if the store is closed or the keyspace was dropped. */
  public void requirePresent(int id) {
    currentState.get();
    if (shut.contains(id)) {
      throw dropped();
    }
  }

  /**
   * Throws if the store is closed or the keyspace was dropped before a snapshot at {@code
   * sequence}.
   */
  public void requirePresentAt(int id, long sequence) {
    currentState.get();
    if (shut.contains(id, sequence)) {
      throw dropped();
    }
  }

  static IllegalStateException dropped() {
    return new IllegalStateException("the keyspace was dropped");
  }

  private List<Integer> create(List<String> names) {
    lock.lock();
    try {
      VersionEdit edit = new VersionEdit();
      Map<String, Integer> made = new LinkedHashMap<>();
      List<Integer> ids = new ArrayList<>();
      for (String name : names) {
        Integer id = versions.current().keyspaces().get(name);
        if (id != null && shut.contains(id)) {
          removeName(id);
          id = null;
        }
        ids.add(id == null ? made.computeIfAbsent(name, absent -> nextId(made.size())) : id);
      }
      made.forEach((name, id) -> edit.addKeyspace(id, name));
      if (!made.isEmpty()) {
        apply(changed(edit));
      }
      return ids;
    } finally {
      lock.unlock();
    }
  }

  private int nextId(int used) {
    int next = versions.current().nextKeyspace();
    if (next > Keyspaces.ID_MAX - used) {
      throw new LimitExceededException("ids of keyspaces are used up");
    }
    return next + used;
  }

  /**
   * Marks a restored store as changed: creating a keyspace is no write, and the next restore would
   * drop it.
   */
  private VersionEdit changed(VersionEdit edit) {
    Restored restored = versions.current().history().restored();
    return restored == null
        ? edit
        : edit.restored(
            new Restored(restored.source(), restored.since(), restored.until(), Restored.CHANGED));
  }

  /** Applies an edit of the keyspaces; the caller excludes all others. */
  public void apply(VersionEdit edit) {
    failure.check();
    failure.guard(() -> versions.apply(edit));
    currentState.installVersion(null);
  }

  private static void checkName(String name) {
    if (!StandardCharsets.UTF_8.newEncoder().canEncode(name)) {
      throw new IllegalArgumentException(
          "the name of a keyspace is text, this one has half of a surrogate pair");
    }
    int length = name.getBytes(StandardCharsets.UTF_8).length;
    if (length == 0 || length > Limits.KEYSPACE_NAME_BYTES_MAX) {
      throw new IllegalArgumentException(
          "the name of a keyspace takes 1 to "
              + Limits.KEYSPACE_NAME_BYTES_MAX
              + " bytes in UTF-8, this one "
              + length);
    }
  }
}
