package io.kvsep.internal.view;

import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.concurrent.PinCount;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.Version;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What a reader reads: the memtables and one version of the tables. Immutable except for the
 * reference count.
 *
 * <p>Point reads use it inside an epoch without a reference; cursors retain it. The last reference
 * releases the version and the memtables.
 */
public final class ReadState {
  /** A memtable, counted by read states that contain it. */
  public static final class SharedMemtable {
    public final Memtable memtable;
    private final AtomicInteger holders = new AtomicInteger();
    private final AtomicLong pinnedBytes;
    private boolean pinned;

    /**
     * @param pinnedBytes bytes of memtables outside the current read state and not freed
     */
    public SharedMemtable(Memtable memtable, AtomicLong pinnedBytes) {
      this.memtable = memtable;
      this.pinnedBytes = pinnedBytes;
    }

    /** Called when the memtable leaves the current read state. */
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

  /** Newest first; the first is active. */
  public final List<SharedMemtable> memtables;

  /** {@link #memtables} for the read path. */
  public final Memtable[] searched;

  public final Version version;

  /** Number of earlier calls of {@link CurrentReadState#forgetMarks}. */
  final long markGeneration;

  private final Epochs<?> epochs;
  private final PinCount references = new PinCount(this::releaseParts);

  /** Takes ownership of the caller's reference to {@code version}. */
  public ReadState(
      List<SharedMemtable> memtables, Version version, long markGeneration, Epochs<?> epochs) {
    this.markGeneration = markGeneration;
    this.memtables = List.copyOf(memtables);
    this.searched = this.memtables.stream().map(m -> m.memtable).toArray(Memtable[]::new);
    this.version = version;
    this.epochs = epochs;
    for (SharedMemtable memtable : memtables) {
      memtable.holders.incrementAndGet();
    }
  }

  public Memtable active() {
    return searched[0];
  }

  /** False if already released; else the caller must {@link #release}. */
  public boolean tryRetain() {
    return references.tryPin();
  }

  public void release() {
    references.unpin();
  }

  private void releaseParts() {
    CleanupSteps releases = new CleanupSteps();
    for (SharedMemtable shared : memtables) {
      if (shared.holders.decrementAndGet() == 0) {
        releases.run(() -> epochs.retire(shared::free));
      }
    }
    releases.run(version::release);
    releases.throwFirst();
  }
}
