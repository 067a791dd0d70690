package io.kvsep.internal.view;

import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.Version;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Everything a reader looks at: the memtables and one version of the tables. Immutable but for its
 * reference count.
 *
 * <p>Point reads use the current view under the protection of the epochs and count nothing. Cursors
 * retain it. When the last reference goes, the view gives up its version and its memtables.
 */
public final class ReadState {
  /** A memtable with the number of views that hold it. */
  public static final class SharedMemtable {
    public final Memtable memtable;
    private final AtomicInteger views = new AtomicInteger();
    private final AtomicLong pinnedBytes;
    private boolean pinned;

    /**
     * @param pinnedBytes counts the memtables that have left the current view and are still there
     */
    public SharedMemtable(Memtable memtable, AtomicLong pinnedBytes) {
      this.memtable = memtable;
      this.pinnedBytes = pinnedBytes;
    }

    /** It has left the current view; whoever has an older one keeps it. */
    void pin() {
      pinned = true;
      pinnedBytes.addAndGet(memtable.memoryBytes());
    }

    private void free() {
      if (pinned) {
        pinnedBytes.addAndGet(-memtable.memoryBytes());
      }
      memtable.free();
    }
  }

  /** Newest first; the first one is the active one. */
  public final List<SharedMemtable> memtables;

  /** The same as an array, for the read path. */
  public final Memtable[] searched;

  public final Version version;

  /** How many times {@link CurrentReadState#forgetMarks} was called before. */
  final long markEpoch;

  private final Epochs<?> epochs;
  private final AtomicInteger references = new AtomicInteger(1);

  /** Takes over the caller's reference to {@code version}. */
  public ReadState(
      List<SharedMemtable> memtables, Version version, long markEpoch, Epochs<?> epochs) {
    this.markEpoch = markEpoch;
    this.memtables = List.copyOf(memtables);
    this.searched = this.memtables.stream().map(m -> m.memtable).toArray(Memtable[]::new);
    this.version = version;
    this.epochs = epochs;
    for (SharedMemtable memtable : memtables) {
      memtable.views.incrementAndGet();
    }
  }

  public Memtable active() {
    return searched[0];
  }

  /** Whether the view is still alive; if so it stays until {@link #release}. */
  public boolean tryRetain() {
    int count = references.get();
    while (count > 0) {
      if (references.compareAndSet(count, count + 1)) {
        return true;
      }
      count = references.get();
    }
    return false;
  }

  public void release() {
    if (references.decrementAndGet() > 0) {
      return;
    }
    CleanupSteps releases = new CleanupSteps();
    for (SharedMemtable shared : memtables) {
      if (shared.views.decrementAndGet() == 0) {
        releases.run(() -> epochs.retire(shared::free));
      }
    }
    releases.run(version::release);
    releases.throwFirst();
  }
}
