package io.kvsep.internal.feed;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.ChangesLostException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.vlog.LogReader;
import io.kvsep.internal.vlog.LogReader.Outcome;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.internal.vlog.ValueReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads changes from the log in sequence order. Pins nothing between calls: neither writers nor
 * reclaim wait for a reader, and a slow one can find its changes lost.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: a returned change is committed and durable.
 *   <li>I2: changes are returned in the order of sequence numbers and none is skipped, or the call
 *       fails. The log segments of a version contain all changes above the highest one that it
 *       records as lost.
 * </ul>
 *
 * Thread safe; a lock serializes the calls.
 */
public final class ChangeReader {
  private static final long WAIT_NANOS_MIN = TimeUnit.MICROSECONDS.toNanos(100);
  private static final long WAIT_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(5);

  /** What all readers share. */
  public record Source(
      Epochs<ReadContext> epochs,
      CurrentReadState currentState,
      VersionSet versions,
      SegmentDirectory segments,
      SnapshotRegistry snapshots,
      LogWriter logWriter,
      Ticker ticker) {}

  private final Source source;
  private final LogReader reader;
  private final ReentrantLock lock = new ReentrantLock();

  /** Changes read ahead. A list stays intact after an OutOfMemoryError. */
  @GuardedBy("lock")
  private final List<LoggedChange> ready = new ArrayList<>();

  /** Changes of {@link #ready} already returned. */
  @GuardedBy("lock")
  private int taken;

  /** Sequence number of the last change in {@link #ready}, or last returned. */
  @GuardedBy("lock")
  private long position;

  /** 0 before the first. */
  private volatile long segment;

  private volatile boolean closed;

  ChangeReader(Source source, long after) {
    this.source = source;
    this.reader = new LogReader();
    this.position = after;
    requireAll(source.versions().current());
  }

  /** Null if there is no change yet. */
  @Nullable LoggedChange poll() {
    return poll(change -> change);
  }

  /**
   * Applies {@code made} to the next change; null if there is none yet. If {@code made} throws, the
   * next call gets the same change.
   */
  public <T> @Nullable T poll(Function<LoggedChange, T> made) {
    lock.lock();
    try {
      if (closed) {
        throw new StoreClosedException("the change feed is closed");
      }
      if (ready.isEmpty()) {
        fill();
      } else {
        source.currentState().get();
      }
      return take(made);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    } finally {
      lock.unlock();
    }
  }

  /** Like {@link #poll(Function)}, but waits. An interrupt ends the wait and stays set. */
  public <T> @Nullable T poll(long nanosMax, Function<LoggedChange, T> made) {
    long start = source.ticker().nanos();
    long pause = WAIT_NANOS_MIN;
    while (true) {
      T change = poll(made);
      long rest = nanosMax - (source.ticker().nanos() - start);
      if (change != null || rest <= 0 || Thread.currentThread().isInterrupted()) {
        return change;
      }
      Uninterruptibles.pause(Math.min(rest, pause));
      pause = Math.min(2 * pause, WAIT_NANOS_MAX);
    }
  }

  /** Needs no cleanup. */
  public void close() {
    closed = true;
  }

  boolean isClosed() {
    return closed;
  }

  long segment() {
    return segment;
  }

  @GuardedBy("lock")
  private <T> @Nullable T take(Function<LoggedChange, T> made) {
    if (ready.isEmpty()) {
      return null;
    }
    T next = made.apply(ready.get(taken));
    taken++;
    if (taken == ready.size()) {
      ready.clear();
      taken = 0;
    }
    return next;
  }

  @GuardedBy("lock")
  private void fill() {
    long before = position;
    try {
      readSome();
    } catch (RuntimeException e) {
      // Earlier changes first; the next read throws again.
      if (ready.isEmpty()) {
        throw e;
      }
    } catch (Error e) {
      // Out of memory or an unreadable page: start over.
      ready.clear();
      position = before;
      segment = 0;
      reader.restart();
      throw e;
    }
  }

  @GuardedBy("lock")
  private void readSome() {
    try {
      boolean more = true;
      while (more && ready.isEmpty()) {
        more = readOn();
      }
    } finally {
      // A page may have become unreadable between check and copy.
      Region.requirePagesRead();
    }
  }

  /**
   * Reads one part; returns whether there may be more. Leaves the epochs between parts, so that
   * memory can be freed.
   */
  @GuardedBy("lock")
  @SuppressWarnings("GuardedBy") // The lambda runs under the lock.
  private boolean readOn() {
    return source
        .epochs()
        .inside(
            context -> {
              try {
                source.currentState().get();
                return readOn(context.scratch);
              } finally {
                context.trim();
              }
            });
  }

  @GuardedBy("lock")
  @SuppressWarnings("GuardedBy") // The method that is passed runs under the lock.
  private boolean readOn(ValueReader.Scratch scratch) {
    // First: the version then contains every bulk load before a visible change.
    long visible = source.snapshots().visibleSequence();
    Version version = source.versions().current();
    LogPosition durable = LogPosition.later(source.logWriter().durable(), version.replayFrom());
    requireAll(version);
    Segment current = source.segments().find(segment);
    Outcome outcome = Outcome.ENDED;
    if (current != null) {
      long end = durableEnd(current, durable);
      outcome =
          end == 0
              ? Outcome.PENDING
              : reader.read(current, end, position, visible, scratch, this::add);
    }
    // A dropped unused segment has no end mark, and a cursor may keep it listed.
    boolean ended = outcome == Outcome.ENDED || !isInLog(version);
    return outcome == Outcome.READ || (ended && enterNext());
  }

  private boolean isInLog(Version version) {
    SegmentState state = version.segments().get(segment);
    return state != null && state.isLog();
  }

  @GuardedBy("lock")
  private boolean enterNext() {
    // Read again, because the segment may have been dropped just now.
    Version version = source.versions().current();
    requireAll(version);
    for (SegmentState state : version.segments().tailMap(segment + 1).values()) {
      boolean passed = state.isSealed() && state.lastSequence() <= position;
      if (state.isLog() && !passed) {
        segment = state.id();
        reader.restart();
        return true;
      }
    }
    return false;
  }

  /** Throws if the version records a later change as lost. */
  @GuardedBy("lock")
  private void requireAll(Version version) {
    long lost = version.history().lostChange();
    if (lost > position) {
      throw new ChangesLostException(position, lost);
    }
  }

  @GuardedBy("lock")
  private void add(
      long sequence, int kind, byte[] key, byte[] value, long expiresAtMillis, boolean endsCommit) {
    ready.add(LoggedChange.of(sequence, kind, key, value, expiresAtMillis, endsCommit));
    position = sequence;
  }

  /** 0 if nothing is durable. */
  private static long durableEnd(Segment segment, LogPosition durable) {
    if (segment.id() == durable.segment()) {
      return Math.min(durable.offset(), segment.publishedEnd());
    }
    return segment.id() < durable.segment() ? segment.publishedEnd() : 0;
  }
}
