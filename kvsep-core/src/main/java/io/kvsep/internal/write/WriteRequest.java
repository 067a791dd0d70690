package io.kvsep.internal.write;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.SafeUnpark;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.ScratchBudget;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.RecordSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One write on its way through the commit pipeline, reused from write to write. Belongs to the
 * writing thread until it is submitted, to the leader of its group until it is completed, and then
 * to the writing thread again.
 */
public final class WriteRequest implements SlotContext {
  private enum State {
    WAITING,
    LEADER,
    DONE
  }

  final Frame frame;
  final SingleRecord single = new SingleRecord();

  /** The group this write leads, when it does; kept here so that leading allocates nothing. */
  final List<WriteRequest> group = new ArrayList<>();

  /** The next one in the {@link WriteQueue} this is in. */
  @Nullable WriteRequest behind;

  private final ScratchBudget.Share memory;

  /** Whether the commit has to be synced before it is acknowledged. */
  boolean sync;

  /** Whether the writer would rather wait than come back later. */
  boolean mayWait;

  /** The keyspace of a single record. */
  int keyspace;

  /** The keyspaces of a batch. */
  Set<Integer> keyspaces = Set.of();

  /** Whether this is the delete of everything in a keyspace that is being dropped. */
  boolean dropsKeyspace;

  /** Whether this is part of a restore. */
  boolean restores;

  /** What the write depends on, null for nothing. */
  @Nullable CommitCondition condition;

  /** Whether the condition held, and there was nothing to wait for when that is not wanted. */
  boolean applied;

  private @Nullable Throwable error;

  /** Whether it is known what became of the write, unless that is an error. */
  private boolean settled;

  private volatile State state = State.WAITING;
  private @Nullable Thread writer;

  WriteRequest(MemoryLedger ledger, ScratchBudget.Share memory, Frame.Encoding encoding) {
    this.memory = memory;
    frame = new Frame(ledger, encoding);
  }

  /** Made ready for another write by the current thread. */
  void prepare(boolean withSync) {
    sync = withSync;
    mayWait = true;
    keyspace = Keyspaces.DEFAULT;
    keyspaces = Set.of();
    dropsKeyspace = false;
    restores = false;
    condition = null;
    applied = true;
    error = null;
    settled = false;
    state = State.WAITING;
    writer = Thread.currentThread();
  }

  /**
   * Waits until somebody has committed the write or this thread is to lead.
   *
   * @param looks how often to look before the thread goes to sleep
   * @return whether it is to lead
   */
  boolean awaitTurn(int looks) {
    for (int i = 0; i < looks && state == State.WAITING; i++) {
      Thread.onSpinWait();
    }
    boolean interrupted = false;
    while (state == State.WAITING) {
      LockSupport.park(this);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return state == State.LEADER;
  }

  void promote() {
    Thread thread = writer;
    state = State.LEADER;
    SafeUnpark.wake(thread);
  }

  /** Ends the write; with an error that its thread then throws. */
  void complete() {
    Thread thread = writer;
    state = State.DONE;
    if (thread != Thread.currentThread()) {
      SafeUnpark.wake(thread);
    }
  }

  void fail(RuntimeException cause) {
    error = cause;
  }

  /** Of the JVM, before anything was written. */
  void fail(Error cause) {
    error = cause;
  }

  /** It is committed. A write of which nobody says anything is not taken for that. */
  void settle() {
    settled = true;
  }

  /** It is not applied, and that is no error. */
  void leave() {
    applied = false;
    settled = true;
  }

  boolean isSettled() {
    return settled;
  }

  /** The number of the last record; those before it have the numbers before. Once committed. */
  long lastSequence() {
    return frame.firstSequence() + frame.recordCount() - 1;
  }

  void throwIfFailed() {
    if (error instanceof RuntimeException exception) {
      throw exception;
    }
    if (error instanceof Error thrown) {
      throw thrown;
    }
  }

  /** Whether there is memory for a frame of this length. */
  boolean fits(long frameBytes) {
    // The frame itself, and as much again while a value is compressed.
    return memory.take(2 * frameBytes);
  }

  /**
   * Made ready to be left alone until the next write. False when other slots keep too much for this
   * one to keep its memory.
   */
  boolean forget() {
    single.forget();
    condition = null;
    keyspaces = Set.of();
    boolean kept = memory.keep(frame.capacity());
    try {
      frame.trim(memory.keptBytes());
    } finally {
      memory.release();
    }
    return kept;
  }

  /** Gives back what was kept for the next write. */
  void giveBack() {
    frame.close();
    memory.giveBack();
  }

  @Override
  public void free() {
    frame.close();
  }

  /** A single put, delete or range delete as the source of a frame. */
  static final class SingleRecord extends RecordSource {
    private boolean consumed;

    void set(
        int forKeyspace, int recordKind, byte[] forKey, byte @Nullable [] newValue, long expiry) {
      keyspace = forKeyspace;
      kind = recordKind;
      key = forKey;
      keyOffset = 0;
      keyLength = forKey.length;
      value = newValue;
      valueOffset = 0;
      valueLength = newValue == null ? 0 : newValue.length;
      expiresAtMillis = expiry;
      consumed = false;
    }

    void forget() {
      key = EMPTY;
      value = null;
    }

    @Override
    public void rewind() {
      consumed = false;
    }

    @Override
    public boolean next() {
      boolean first = !consumed;
      consumed = true;
      return first;
    }

    @Override
    public int recordCount() {
      return 1;
    }

    @Override
    public long payloadBytes() {
      int prefixLength = kind == Tag.RANGE_DELETE ? Keyspaces.prefixLength(keyspace) : 0;
      return (long) keyLength + valueLength - prefixLength;
    }
  }
}
