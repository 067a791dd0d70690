package io.kvsep.internal.background;

import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Takes segments out of the manifest, unread, to which no table and no unflushed memtable points. A
 * log segment must also lie wholly before the replay position and not be retained. Thread safe.
 */
public final class DeadSegments {
  private final VersionSet versions;
  private final CurrentReadState currentState;
  private final FailureState failure;
  private final long retainedBytes;

  /** Held from choosing segments to changing the set of segments. */
  private final ReentrantLock lock = new ReentrantLock();

  DeadSegments(
      VersionSet versions,
      CurrentReadState currentState,
      FailureState failure,
      long retainedBytes) {
    this.versions = versions;
    this.currentState = currentState;
    this.failure = failure;
    this.retainedBytes = retainedBytes;
  }

  public void remove() {
    lock.lock();
    try {
      VersionEdit edit = new VersionEdit();
      Set<Long> dead = deadIn(versions.current());
      if (!dead.isEmpty()) {
        dead.forEach(edit::removeSegment);
        failure.guard(() -> versions.apply(edit));
        currentState.installVersion(null);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Runs {@code action} while no other thread changes the set of segments except by adding some.
   */
  public void withoutRemovals(Runnable action) {
    lock.lock();
    try {
      action.run();
    } finally {
      lock.unlock();
    }
  }

  private Set<Long> deadIn(Version version) {
    long end = Math.min(version.replayFrom().segment(), version.retainedFrom(retainedBytes));
    Set<Long> dead = new HashSet<>();
    Set<Long> homes = new HashSet<>();
    for (SegmentState segment : version.segments().values()) {
      boolean needed = segment.isLog() && segment.id() >= end;
      if (segment.isSealed() && !needed && version.liveBytes(segment.id()) == 0) {
        dead.add(segment.id());
      } else if (!segment.hasFile()) {
        homes.add(segment.home());
      }
    }
    dead.removeAll(homes);
    return dead;
  }
}
