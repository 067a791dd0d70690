package io.kvsep.internal.write;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.version.BackupLineage.Restored;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which keyspaces there are. Their names and ids stand in the manifest; what is in them stands in
 * the log and the tables like everything else, behind a prefix.
 *
 * <p>Dropping one deletes its range, durably, before its name goes: a crash in between leaves it
 * empty, never nameless and full. From before that delete on the commit leader refuses every other
 * write to it, so that nothing can come behind the delete.
 *
 * <p>Where taking the name away fails, the manifest may lack it all the same, and a crash would
 * leave what is written from then on without one. So the keyspace stays shut: dropping it again, or
 * asking for one of its name, takes up where that ended.
 *
 * <p>Thread safe.
 */
public final class KeyspaceCatalog {
  private final VersionSet versions;
  private final CurrentReadState live;
  private final FailureState failure;
  private final StoreWrites writes;
  private final DroppedKeyspaces shut;
  private final LogTail appender;
  private final NonAllocatingLock lock = new NonAllocatingLock();

  public KeyspaceCatalog(
      VersionSet versions,
      CurrentReadState live,
      FailureState failure,
      StoreWrites writes,
      DroppedKeyspaces shut,
      LogTail appender) {
    this.versions = versions;
    this.live = live;
    this.failure = failure;
    this.writes = writes;
    this.shut = shut;
    this.appender = appender;
  }

  /** The names, in order. */
  public List<String> names() {
    live.get();
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
   * The name of a keyspace, null when it was dropped: not before everything in it is deleted for
   * certain, since whoever asks takes the keyspace for gone for good then.
   *
   * @param guess a name that it probably has, null when there is none: then this costs a walk
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

  /** The id of a keyspace, which is made if there is none of that name. */
  public int open(String name) {
    checkName(name);
    live.get();
    Integer id = versions.current().keyspaces().get(name);
    return id != null && !shut.contains(id) ? id : create(name);
  }

  /** Removes a keyspace and everything in it; nothing happens when it is gone already. */
  public void drop(int id) {
    drop(id, /* restores= */ false);
  }

  /** As above; {@code restores} tells whether it is a restore that does it. */
  public void drop(int id, boolean restores) {
    EpochSlot<WriteRequest> slot = writes.enter();
    lock.lock();
    try {
      if (!versions.current().keyspaces().containsValue(id)) {
        return;
      }
      if (!shut.isEmptied(id)) {
        empty(id, restores);
      }
      // What deleted its entries was synced: a log that ends before that is damaged.
      apply(new VersionEdit().dropKeyspace(id).syncedLog(appender.durable()));
    } finally {
      lock.unlock();
      writes.exit(slot);
    }
  }

  private void empty(int id, boolean restores) {
    shut.add(id);
    boolean deleted = false;
    try {
      writes.deleteAll(id, restores);
      shut.addEmptied(id);
      deleted = true;
    } finally {
      if (!deleted) {
        shut.remove(id);
      }
    }
  }

  /** Does something with no keyspace being made or dropped meanwhile. */
  public void exclusively(Runnable action) {
    lock.lock();
    try {
      action.run();
    } finally {
      lock.unlock();
    }
  }

  /** Gives names to ids that were never used, as another store has them. */
  public void add(Map<String, Integer> keyspaces) {
    VersionEdit edit = new VersionEdit();
    keyspaces.forEach((name, id) -> edit.addKeyspace(id, name));
    exclusively(() -> apply(edit));
  }

  /** Throws when the store is closed or the keyspace was dropped. */
  public void requirePresent(int id) {
    live.get();
    if (shut.contains(id)) {
      throw dropped();
    }
  }

  /**
   * Throws when the store is closed, or the keyspace was dropped before a snapshot of that sequence
   * number was taken. Older ones go on seeing it.
   */
  public void requirePresentAt(int id, long sequence) {
    live.get();
    if (shut.contains(id, sequence)) {
      throw dropped();
    }
  }

  static IllegalStateException dropped() {
    return new IllegalStateException("the keyspace was dropped");
  }

  private int create(String name) {
    EpochSlot<WriteRequest> slot = writes.enter();
    lock.lock();
    try {
      Integer present = versions.current().keyspaces().get(name);
      if (present != null && !shut.contains(present)) {
        return present;
      }
      if (present != null) {
        apply(new VersionEdit().dropKeyspace(present));
      }
      int id = versions.current().nextKeyspace();
      if (id > Keyspaces.ID_MAX) {
        throw new LimitExceededException("ids of keyspaces are used up");
      }
      apply(changed(new VersionEdit().addKeyspace(id, name)));
      return id;
    } finally {
      lock.unlock();
      writes.exit(slot);
    }
  }

  /**
   * Has the edit say that this store is no copy of the one it was restored from any more: to a
   * restore, which drops what its source does not have, the new keyspace is no write.
   */
  private VersionEdit changed(VersionEdit edit) {
    Restored restored = versions.current().history().restored();
    return restored == null
        ? edit
        : edit.restored(
            new Restored(restored.source(), restored.since(), restored.until(), Restored.MIXED));
  }

  private void apply(VersionEdit edit) {
    failure.check();
    failure.guard(() -> versions.apply(edit));
    live.installVersion(null);
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
