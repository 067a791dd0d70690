package io.kvsep.testing;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Names of files: those that are seen, those that power loss leaves for certain, and the changes
 * between the two. A name up to its slash is a folder, whose changes are durable when it is synced
 * itself; the other names are one more folder, "". Not thread safe.
 */
final class Directory {
  private final SortedMap<String, Inode> live = new TreeMap<>();
  private final SortedMap<String, Inode> durable = new TreeMap<>();
  private final List<Renaming> pending = new ArrayList<>();

  /** One create (no source), rename, or delete (no target) that no sync has covered. */
  record Renaming(@Nullable String source, @Nullable String target, Inode inode) {
    void apply(Map<String, Inode> names) {
      if (source != null) {
        names.remove(source);
      }
      if (target != null) {
        names.put(target, inode);
      }
    }

    /** Both names are in one folder. */
    boolean isIn(String folder) {
      String name = source == null ? target : source;
      return name != null && folderOf(name).equals(folder);
    }
  }

  SortedMap<String, Inode> live() {
    return live;
  }

  SortedMap<String, Inode> durable() {
    return durable;
  }

  List<Renaming> pending() {
    return pending;
  }

  void change(@Nullable String source, @Nullable String target, Inode inode) {
    Renaming renaming = new Renaming(source, target, inode);
    renaming.apply(live);
    pending.add(renaming);
  }

  /** A file that is there for certain, under a name that no pending change touches. */
  void putDurable(String name, Inode inode) {
    live.put(name, inode);
    durable.put(name, inode);
  }

  void syncAll() {
    pending.forEach(renaming -> renaming.apply(durable));
    pending.clear();
  }

  void sync(String folder) {
    pending.stream()
        .filter(renaming -> renaming.isIn(folder))
        .forEach(renaming -> renaming.apply(durable));
    forgetPending(folder);
  }

  void forgetPending(String folder) {
    pending.removeIf(renaming -> renaming.isIn(folder));
  }

  /** What is in a folder, without its name, sorted. */
  List<String> namesIn(String folder) {
    List<String> names = new ArrayList<>();
    for (String name : live.keySet()) {
      if (folderOf(name).equals(folder)) {
        names.add(name.substring(folder.length()));
      }
    }
    return names;
  }

  private static String folderOf(String name) {
    return name.substring(0, name.indexOf('/') + 1);
  }

  /** The same names, files and pending changes, independent of these. */
  Directory copy() {
    IdentityHashMap<Inode, Inode> copies = new IdentityHashMap<>();
    Directory copy = new Directory();
    live.forEach((name, inode) -> copy.live.put(name, copied(copies, inode)));
    durable.forEach((name, inode) -> copy.durable.put(name, copied(copies, inode)));
    for (Renaming change : pending) {
      copy.pending.add(
          new Renaming(change.source(), change.target(), copied(copies, change.inode())));
    }
    return copy;
  }

  private static Inode copied(IdentityHashMap<Inode, Inode> copies, Inode inode) {
    return copies.computeIfAbsent(inode, Inode::copy);
  }
}
