package io.kvsep.testing;

import java.util.ArrayList;
import java.util.List;

/**
 * A file without a name: what reads see, what power loss leaves for certain, and the changes
 * between the two. Not thread safe.
 */
final class Inode {
  private final Content live;
  private final Content durable;
  private final List<Change> pending;

  /** A file with everything on disk. */
  Inode(byte[] bytes) {
    this(new Content(bytes), new Content(bytes), List.of());
  }

  private Inode(Content live, Content durable, List<Change> pending) {
    this.live = live;
    this.durable = durable;
    this.pending = new ArrayList<>(pending);
  }

  Inode copy() {
    return new Inode(live.copy(), durable.copy(), pending);
  }

  Content live() {
    return live;
  }

  Content durable() {
    return durable;
  }

  List<Change> pending() {
    return pending;
  }

  void change(Change change) {
    change.apply(live);
    pending.add(change);
  }

  void sync() {
    pending.forEach(change -> change.apply(durable));
    pending.clear();
  }

  /** What Linux does when writing back fails: clean in memory, absent on disk. */
  void forgetPending() {
    pending.clear();
  }

  /** Damage at rest: makes the same bytes live and durable, whatever was pending. */
  void replace(byte[] bytes) {
    for (Content content : List.of(live, durable)) {
      content.truncate(0);
      content.write(0, bytes, 0, bytes.length);
    }
    pending.clear();
  }
}
