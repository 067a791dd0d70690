package io.kvsep.internal.write;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.ScratchBudget;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.RecordSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One write in the commit pipeline, reused. Owned by the writing thread, but from submission to
 * completion by its group's leader.
 */
public final class WriteRequest implements SlotContext {
  private enum State {
    WAITING,
    LEADER,
    DONE
  }

  /** Occupied until the call ends. */
  @Nullable EpochSlot<WriteRequest> slot;

  final Frame frame;
  final SingleRecord single = new SingleRecord();

  /** The group this write leads, itself included. */
  final List<WriteRequest> group = new ArrayList<>();

  private final ScratchBudget.Share memory;

  boolean sync;

  boolean mayWait;

  int keyspace;

  Set<Integer> keyspaces = Set.of();

  /** Deletes everything in a keyspace being dropped. */
  boolean dropsKeyspace;

  @Nullable CommitCondition condition;

  /** False if the condition did not hold or the write would have blocked. */
  boolean applied;

  private @Nullable Throwable error;

  /** Whether the outcome is known, unless it is an error. */
  private boolean decided;

  private volatile State state = State.WAITING;
  private @Nullable Thread writer;

  WriteRequest(MemoryLedger ledger, ScratchBudget.Share memory, Frame.Encoding encoding) {
    this.memory = memory;
    frame = new Frame(ledger, encoding);
  }

  void prepare(EpochSlot<WriteRequest> occupied, boolean withSync) {
    slot = occupied;
    sync = withSync;
    mayWait = true;
    keyspace = Keyspaces.DEFAULT;
    keyspaces = Set.of();
    dropsKeyspace = false;
    condition = null;
    applied = true;
    error = null;
    decided = false;
    state = State.WAITING;
    writer = Thread.currentThread();
  }

  /**
   * Waits until the write is committed or this thread is to lead; returns whether to lead.
   *
   * @param spins before parking
   */
  boolean awaitTurn(int spins) {
    for (int i = 0; i < spins && state == State.WAITING; i++) {
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
    wake(thread);
  }

  /** Ends the write; its thread then throws any error. */
  void complete() {
    Thread thread = writer;
    state = State.DONE;
    if (thread != Thread.currentThread()) {
      wake(thread);
    }
  }

  /** Waking a virtual thread of Java 21 may need memory; the others must still be woken. */
  private static void wake(@Nullable Thread thread) {
    try {
      LockSupport.unpark(thread);
    } catch (OutOfMemoryError | RejectedExecutionException e) {
      return;
    }
  }

  /** Records a failure after which nothing of the write has happened. */
  void fail(Throwable cause) {
    error = cause;
  }

  /** Marks the write committed. */
  void succeed() {
    decided = true;
  }

  /** Marks the write skipped, which is no error. */
  void leave() {
    applied = false;
    decided = true;
  }

  /** Throws the error, or the store's failure if an Error ended the leader. */
  void throwIfFailed(FailureState failure) {
    if (error instanceof RuntimeException exception) {
      throw exception;
    }
    if (error instanceof Error thrown) {
      throw thrown;
    }
    if (!decided) {
      throw failure.fail(new IllegalStateException("a write was left half way"));
    }
  }

  /** Whether the memory budget allows a frame of this length. */
  boolean fits(long frameBytes) {
    // As much again while a value is compressed.
    return memory.take(2 * frameBytes);
  }

  /** Drops references and trims buffers. Returns false if other slots keep too much memory. */
  boolean forget() {
    single.forget();
    condition = null;
    keyspaces = Set.of();
    long held = frame.forget();
    if (memory.isWithinKept(held)) {
      return true;
    }
    boolean kept = memory.keep(held);
    if (held > memory.keptBytes()) {
      frame.close();
    }
    memory.release();
    return kept;
  }

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
