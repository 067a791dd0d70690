package io.kvsep.internal.feed;

import io.kvsep.error.ChangesLostException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.memory.EpochSlot;
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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Walks the changes of the store in the order of their sequence numbers, by reading the log behind
 * its writer. Nothing is held between two calls but a place, so that neither writers nor reclaim
 * ever wait for whoever reads changes: what is gone when he comes is gone.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>What is handed out is committed, and durable: no crash takes it back.
 *   <li>Every change behind {@link #position} is handed out before any with a higher number, or an
 *       error is. The version tells: all changes beyond the highest one that it calls lost are in
 *       segments of the log that it has.
 * </ol>
 *
 * Thread safe; one thread reads at a time.
 */
public final class ChangeReader {
  private static final long WAIT_NANOS_MIN = TimeUnit.MICROSECONDS.toNanos(100);
  private static final long WAIT_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(5);

  /** What all readers of a store share. */
  public record Source(
      Epochs<ReadContext> epochs,
      CurrentReadState live,
      VersionSet versions,
      SegmentDirectory segments,
      SnapshotRegistry snapshots,
      LogWriter log,
      Ticker ticker) {}

  private final Source source;
  private final LogReader reader;
  private final NonAllocatingLock lock = new NonAllocatingLock();

  /** What was read and not all handed out. A list, since it holds when memory runs out. */
  private final List<LoggedChange> ready = new ArrayList<>();

  /** How many of these were handed out. */
  private int taken;

  /** The last change that was read. */
  private long position;

  /** The segment in which the reader is, 0 before all of them. */
  private volatile long segment;

  private volatile boolean closed;

  ChangeReader(Source source, long after) {
    this.source = source;
    this.reader = new LogReader();
    this.position = after;
  }

  /** The next change; null when there is none as yet. */
  @Nullable LoggedChange poll() {
    return poll(change -> change);
  }

  /**
   * What is made of the next change; null when there is none as yet. The change counts as handed
   * out when that is made: where memory runs out on the way, it comes again.
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
        source.live().get();
      }
      return take(made);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    } finally {
      lock.unlock();
    }
  }

  /** As {@link #poll(Function)}, but waits for one. An interrupt ends the wait and stays set. */
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

  /** Ends it; nothing has to be given back. */
  public void close() {
    closed = true;
  }

  boolean isClosed() {
    return closed;
  }

  /** The segment in which it is, 0 before all of them. */
  long segment() {
    return segment;
  }

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

  private void fill() {
    long before = position;
    try {
      readSome();
    } catch (RuntimeException e) {
      // What was found before that comes first; the same error comes again behind it.
      if (ready.isEmpty()) {
        throw e;
      }
    } catch (Error e) {
      // Out of memory, or such a page: it may have come up in the middle of anything.
      ready.clear();
      position = before;
      segment = 0;
      reader.restart();
      throw e;
    }
  }

  private void readSome() {
    try {
      boolean more = true;
      while (more && ready.isEmpty()) {
        more = readOn();
      }
    } finally {
      // What was copied from a page that cannot be read any more is not what was checked; whatever
      // else came up.
      Region.requirePagesRead();
    }
  }

  /** Reads a part; whether there may be more. In between, memory can be given back. */
  private boolean readOn() {
    Epochs<ReadContext> epochs = source.epochs();
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      source.live().get();
      return readOn(slot.context().scratch);
    } finally {
      try {
        if (epochs.isIn(slot)) {
          slot.context().trim();
        }
      } finally {
        epochs.exit(slot);
      }
    }
  }

  private boolean readOn(ValueReader.Scratch scratch) {
    // In this order: whatever bulk load lies in front of something visible is in the version.
    long visible = source.snapshots().visibleSequence();
    Version version = source.versions().current();
    LogPosition durable = LogPosition.later(source.log().durable(), version.replayFrom());
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
    // A segment that was given back unused has no end; a cursor may keep it listed for long.
    boolean ended = outcome == Outcome.ENDED || !isInLog(version);
    return outcome == Outcome.READ || (ended && enterNext());
  }

  /** Whether the reader's segment is part of the log. */
  private boolean isInLog(Version version) {
    SegmentState state = version.segments().get(segment);
    return state != null && state.isLog();
  }

  /** To the next segment that has something to tell; whether there is one. */
  private boolean enterNext() {
    // Of now, since the segment may have been given up just now.
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

  /** Throws when the version says that some of what comes next is lost. */
  void requireAll(Version version) {
    long lost = version.history().lostChange();
    if (lost > position) {
      throw new ChangesLostException(position, lost);
    }
  }

  private void add(
      long sequence, int kind, byte[] key, byte[] value, long expiresAtMillis, boolean endsCommit) {
    ready.add(LoggedChange.of(sequence, kind, key, value, expiresAtMillis, endsCommit));
    position = sequence;
  }

  /** How much of a segment is durable, 0 for nothing. */
  private static long durableEnd(Segment segment, LogPosition durable) {
    if (segment.id() == durable.segment()) {
      return Math.min(durable.offset(), segment.publishedEnd());
    }
    return segment.id() < durable.segment() ? segment.publishedEnd() : 0;
  }
}
