package io.kvsep.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.KvStore;
import io.kvsep.error.StoreClosedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.apache.ratis.util.LifeCycle;
import org.jspecify.annotations.Nullable;

/**
 * Applies the log of a group to its store. One thread applies the entries in order, many with one
 * commit of the store, and then completes their futures, in order. The store is not synced: the log
 * is, and a store that lost its last commits in a crash gets them from there.
 *
 * <p>An error while an entry is applied stops the node: to go on would leave a hole.
 *
 * <p>Thread safe. Closing waits for what is queued and closes the store.
 */
class GroupStateMachine extends BaseStateMachine {
  /** What one commit takes, and after it the next begins. */
  private static final int COMMIT_BYTES = 1 << 20;

  /** Entries that wait hold memory; Ratis waits for them from here on. */
  private static final long QUEUE_BYTES_MAX = 16 << 20;

  /** What an entry that waits takes besides its bytes, about. */
  private static final int QUEUED_BYTES = 512;

  private static final int DELETE_SECONDS_MAX = 30;

  /** What the machine needs to know of its node. */
  interface Host {
    /** The time that the leader puts into entries. */
    GroupClock newClock();

    /** Opens or creates a store with this clock, without syncs. */
    KvStore open(Path directory, GroupClock clock);

    /** So many entries, of so many bytes, were applied since the last snapshot. */
    void logGrew(long bytes, long entries);

    /** The node cannot go on. Must return at once. */
    void failed(Throwable cause);
  }

  /** An entry that waits, or work at a place in the order of entries. */
  private record Queued(
      TermIndex last,
      byte[] entry,
      CompletableFuture<Message> done,
      @Nullable Consumer<CompletableFuture<Message>> work) {
    long bytes() {
      return QUEUED_BYTES + (long) entry.length;
    }
  }

  private final Host host;
  private final GroupStorage storage;
  private final ExecutorService background;
  private final Thread applier = new Thread(this::run, "cluster-apply");

  private final Object lock = new Object();

  @GuardedBy("lock")
  private final Deque<Queued> queue = new ArrayDeque<>();

  @GuardedBy("lock")
  private long queuedBytes;

  @GuardedBy("lock")
  private boolean closed;

  @GuardedBy("lock")
  private @Nullable Throwable failure;

  /** Of entries that were not applied because of the failure. */
  @GuardedBy("lock")
  private final List<CompletableFuture<Message>> unanswered = new ArrayList<>();

  /** Null before the start, and while a received snapshot takes its place. */
  @GuardedBy("lock")
  private @Nullable GroupStore live;

  @GuardedBy("lock")
  private TermIndex lastApplied = TermIndex.valueOf(0, RaftLog.INVALID_LOG_INDEX);

  private long bytesSinceSnapshot;
  private long entriesSinceSnapshot;

  /** The last entry that Ratis has passed on. After a restart the store may be further. */
  private volatile long passedOn = RaftLog.INVALID_LOG_INDEX;

  GroupStateMachine(Host host) {
    this.host = host;
    ThreadPoolExecutor one =
        new ThreadPoolExecutor(
            1,
            1,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              Thread thread = new Thread(task, "cluster-delete");
              thread.setDaemon(true);
              return thread;
            });
    one.allowCoreThreadTimeOut(true);
    background = one;
    storage = new GroupStorage(background);
    applier.setDaemon(true);
  }

  /**
   * The store at its newest state. Waits while a received snapshot becomes the store.
   *
   * @throws StoreClosedException if the machine is closed or has failed
   */
  GroupStore live() {
    synchronized (lock) {
      boolean interrupted = false;
      while (live == null && !closed && failure == null) {
        interrupted |= await(0);
      }
      restoreInterrupt(interrupted);
      if (live == null || closed) {
        throw new StoreClosedException("the replicated store is closed");
      }
      return live;
    }
  }

  /** Waits until the entry is applied; false after the time. */
  boolean awaitApplied(long index, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    boolean interrupted = false;
    try {
      synchronized (lock) {
        while (lastApplied.getIndex() < index) {
          long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
          if (closed || failure != null) {
            throw new StoreClosedException("the replicated store is closed");
          }
          if (left <= 0) {
            return false;
          }
          interrupted |= await(left);
        }
        return true;
      }
    } finally {
      restoreInterrupt(interrupted);
    }
  }

  @Override
  public void initialize(RaftServer server, RaftGroupId groupId, RaftStorage raftStorage)
      throws IOException {
    getLifeCycle()
        .startAndTransition(
            () -> {
              super.initialize(server, groupId, raftStorage);
              storage.init(raftStorage);
              open();
              applier.start();
            },
            IOException.class);
  }

  @Override
  public StateMachineStorage getStateMachineStorage() {
    return storage;
  }

  @Override
  public TermIndex getLastAppliedTermIndex() {
    synchronized (lock) {
      return lastApplied;
    }
  }

  /** On the leader: checks what a client sent, before it gets into the log, and adds the time. */
  @Override
  public TransactionContext startTransaction(RaftClientRequest request) throws IOException {
    ByteString body = request.getMessage().getContent();
    TransactionContext.Builder transaction =
        TransactionContext.newBuilder().setStateMachine(this).setClientRequest(request);
    try {
      LogEntry.requests(ByteBuffer.wrap(body.toByteArray()));
    } catch (MalformedEntryException e) {
      TransactionContext refused = transaction.setLogData(ByteString.EMPTY).build();
      return refused.setException(new IOException("malformed request, " + e.getMessage(), e));
    }
    byte[] stamp = LogEntry.stamp(live().clock().wallMillis());
    return transaction.setLogData(UnsafeByteOperations.unsafeWrap(stamp).concat(body)).build();
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
    LogEntryProto entry = transaction.getLogEntry();
    byte[] bytes = entry.getStateMachineLogEntry().getLogData().toByteArray();
    CompletableFuture<Message> done = new CompletableFuture<>();
    enqueue(new Queued(TermIndex.valueOf(entry), bytes, done, null));
    passedOn = entry.getIndex();
    return done;
  }

  /**
   * Of an entry that is not for the machine. Ratis lets readers of this index go on when the call
   * returns, so everything before it must be visible then.
   */
  @Override
  public void notifyTermIndexUpdated(long term, long index) {
    TermIndex last = TermIndex.valueOf(term, index);
    CompletableFuture<Message> done = new CompletableFuture<>();
    enqueue(
        new Queued(
            last,
            new byte[0],
            done,
            future -> {
              store().skip(term, index);
              advance(last);
              future.complete(Message.EMPTY);
            }));
    passedOn = index;
    done.join();
  }

  @Override
  public CompletableFuture<Message> query(Message request) {
    return CompletableFuture.completedFuture(Message.EMPTY);
  }

  /** The inherited one is not answered when the index is passed in a stride. */
  @Override
  public CompletableFuture<Message> queryStale(Message request, long minIndex) {
    return getLastAppliedTermIndex().getIndex() >= minIndex
        ? query(request)
        : CompletableFuture.supplyAsync(
            () -> {
              if (!awaitApplied(minIndex, Duration.ofMinutes(1))) {
                throw new IllegalStateException("index " + minIndex + " is not applied");
              }
              return Message.EMPTY;
            });
  }

  /** Called by the thread that calls {@link #applyTransaction}: nothing is queued behind. */
  @Override
  public long takeSnapshot() throws IOException {
    CompletableFuture<Message> done = new CompletableFuture<>();
    TermIndex none = TermIndex.valueOf(0, RaftLog.INVALID_LOG_INDEX);
    enqueue(new Queued(none, new byte[0], done, this::snapshot));
    try {
      done.join();
    } catch (CompletionException e) {
      throw new IOException("no snapshot", e);
    }
    SnapshotInfo latest = storage.getLatestSnapshot();
    return latest == null ? RaftLog.INVALID_LOG_INDEX : latest.getIndex();
  }

  @Override
  public void pause() {
    if (getLifeCycleState() == LifeCycle.State.RUNNING) {
      getLifeCycle().transition(LifeCycle.State.PAUSING);
      getLifeCycle().transition(LifeCycle.State.PAUSED);
    }
  }

  /** A snapshot was received. It becomes the store, unless that is further. */
  @Override
  public void reinitialize() throws IOException {
    getLifeCycle()
        .startAndTransition(
            () -> {
              CompletableFuture<Message> done = new CompletableFuture<>();
              TermIndex none = TermIndex.valueOf(0, RaftLog.INVALID_LOG_INDEX);
              enqueue(new Queued(none, new byte[0], done, this::install));
              done.join();
            },
            IOException.class);
  }

  @Override
  public void notifyLogFailed(Throwable cause, @Nullable LogEntryProto failedEntry) {
    host.failed(cause);
  }

  @Override
  public void close() throws IOException {
    synchronized (lock) {
      closed = true;
      lock.notifyAll();
    }
    boolean interrupted = false;
    while (applier.isAlive()) {
      try {
        applier.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    restoreInterrupt(interrupted);
    GroupStore store;
    synchronized (lock) {
      store = live;
      live = null;
    }
    background.shutdown();
    try {
      if (store != null) {
        store.close();
      }
    } finally {
      awaitDeletes();
      super.close();
    }
  }

  /** What is left after that is deleted at the next start. */
  private void awaitDeletes() {
    try {
      background.awaitTermination(DELETE_SECONDS_MAX, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Opens the live store; a snapshot that is further takes its place. */
  private void open() throws IOException {
    SnapshotInfo snapshot = storage.getLatestSnapshot();
    GroupStore store = null;
    if (Files.exists(storage.live())) {
      store = open(storage.live());
    }
    if (snapshot != null
        && (store == null || store.committed().index() < snapshot.getTermIndex().getIndex())) {
      if (store != null) {
        store.close();
      }
      store = replaceLive(snapshot.getTermIndex());
    } else if (store == null) {
      store = open(storage.live());
    }
    Applied applied = store.committed();
    synchronized (lock) {
      live = store;
      lastApplied = TermIndex.valueOf(applied.term(), applied.index());
      lock.notifyAll();
    }
  }

  private GroupStore open(Path directory) throws IOException {
    GroupClock clock = host.newClock();
    KvStore store = host.open(directory, clock);
    try {
      return new GroupStore(store, clock);
    } catch (MalformedEntryException e) {
      store.close();
      throw new IOException("the store in " + directory + " is of a later version", e);
    }
  }

  /** The store in {@code live} must be closed. The snapshot stays as it is. */
  private GroupStore replaceLive(TermIndex last) throws IOException {
    Path snapshot = storage.snapshot(last);
    GroupStorage.sync(snapshot);
    Path copy = storage.beside("new");
    GroupStorage.delete(copy);
    KvStore.copy(snapshot, copy);
    if (Files.exists(storage.live())) {
      storage.deleteLater(storage.live());
    }
    Files.move(copy, storage.live());
    GroupStore store = open(storage.live());
    if (store.committed().index() != last.getIndex()) {
      store.close();
      throw new IOException(
          snapshot
              + " has entries up to "
              + store.committed().index()
              + ", its name says otherwise");
    }
    return store;
  }

  private void enqueue(Queued queued) {
    boolean interrupted = false;
    try {
      synchronized (lock) {
        while (queuedBytes > QUEUE_BYTES_MAX && !closed && failure == null) {
          interrupted |= await(0);
        }
        if (closed || failure != null) {
          throw new IllegalStateException("the replica has stopped", failure);
        }
        queue.add(queued);
        queuedBytes += queued.bytes();
        lock.notifyAll();
      }
    } finally {
      restoreInterrupt(interrupted);
    }
  }

  /** Of the thread that applies. */
  private void run() {
    List<Queued> batch = new ArrayList<>();
    try {
      while (take(batch)) {
        Consumer<CompletableFuture<Message>> work = batch.get(0).work;
        if (work == null) {
          apply(batch);
        } else {
          work(batch.get(0).done, work);
        }
        batch.clear();
      }
    } catch (Throwable e) {
      fail(e, batch);
    }
  }

  private static void work(
      CompletableFuture<Message> done, Consumer<CompletableFuture<Message>> work) {
    try {
      work.accept(done);
    } catch (RuntimeException | Error e) {
      done.completeExceptionally(e);
      throw e;
    }
  }

  /** Takes entries for one commit, or one piece of work. False when closed and empty. */
  private boolean take(List<Queued> batch) {
    synchronized (lock) {
      while (queue.isEmpty()) {
        if (closed) {
          return false;
        }
        await(0);
      }
      long bytes = 0;
      do {
        Queued next = queue.remove();
        batch.add(next);
        bytes += next.bytes();
      } while (batch.get(0).work == null
          && bytes < COMMIT_BYTES
          && !queue.isEmpty()
          && queue.element().work == null);
      queuedBytes -= bytes;
      lock.notifyAll();
      return true;
    }
  }

  private void apply(List<Queued> batch) throws MalformedEntryException {
    GroupStore store = store();
    List<byte[]> answers = new ArrayList<>();
    for (Queued queued : batch) {
      TermIndex last = queued.last;
      LogEntry entry = LogEntry.decode(queued.entry);
      answers.add(Answer.encode(store.apply(last.getTerm(), last.getIndex(), entry)));
      bytesSinceSnapshot += queued.entry.length;
    }
    store.commit();
    for (int i = 0; i < batch.size(); i++) {
      advance(batch.get(i).last);
      batch.get(i).done.complete(Message.valueOf(UnsafeByteOperations.unsafeWrap(answers.get(i))));
    }
    entriesSinceSnapshot += batch.size();
    host.logGrew(bytesSinceSnapshot, entriesSinceSnapshot);
  }

  private void snapshot(CompletableFuture<Message> done) {
    GroupStore store = store();
    store.commit();
    Applied applied = store.committed();
    try {
      if (applied.index() >= 0 && applied.index() <= passedOn) {
        Path target = storage.snapshot(TermIndex.valueOf(applied.term(), applied.index()));
        if (!Files.exists(target)) {
          store.checkpoint(target);
          storage.refresh();
        }
        bytesSinceSnapshot = 0;
        entriesSinceSnapshot = 0;
      }
      done.complete(Message.EMPTY);
    } catch (IOException | RuntimeException e) {
      // Nothing was changed, and the log is still there: the next one may succeed.
      done.completeExceptionally(e);
    }
  }

  private void install(CompletableFuture<Message> done) {
    try {
      storage.refresh();
      GroupStore old = store();
      SnapshotInfo snapshot = storage.getLatestSnapshot();
      if (snapshot != null && old.committed().index() < snapshot.getTermIndex().getIndex()) {
        synchronized (lock) {
          live = null;
        }
        old.close();
        GroupStore installed = replaceLive(snapshot.getTermIndex());
        Applied applied = installed.committed();
        synchronized (lock) {
          live = installed;
          lastApplied = TermIndex.valueOf(applied.term(), applied.index());
          lock.notifyAll();
        }
        bytesSinceSnapshot = 0;
        entriesSinceSnapshot = 0;
      }
      done.complete(Message.EMPTY);
    } catch (IOException | RuntimeException e) {
      done.completeExceptionally(e);
      fail(e, List.of());
    }
  }

  private void advance(TermIndex last) {
    synchronized (lock) {
      if (last.getIndex() > lastApplied.getIndex()) {
        lastApplied = last;
        lock.notifyAll();
      }
    }
  }

  /** Of the thread that applies, which alone replaces it. */
  private GroupStore store() {
    synchronized (lock) {
      if (live == null) {
        throw new IllegalStateException("the store is not open");
      }
      return live;
    }
  }

  /** Futures of entries are left open until {@link #release}: their clients ask another node. */
  private void fail(Throwable cause, List<Queued> batch) {
    synchronized (lock) {
      // First of all, as there may be no memory for the rest.
      if (failure == null) {
        failure = cause;
      }
      lock.notifyAll();
    }
    try {
      List<Queued> left = new ArrayList<>(batch);
      synchronized (lock) {
        left.addAll(queue);
        queue.clear();
        for (Queued queued : left) {
          if (queued.work == null) {
            unanswered.add(queued.done);
          }
        }
        queuedBytes = 0;
      }
      for (Queued queued : left) {
        if (queued.work != null) {
          queued.done.completeExceptionally(cause);
        }
      }
    } finally {
      host.failed(cause);
    }
  }

  /** After a failure, when no client waits here any more: Ratis waits for the futures to close. */
  void release() {
    List<CompletableFuture<Message>> left;
    Throwable cause;
    synchronized (lock) {
      left = new ArrayList<>(unanswered);
      unanswered.clear();
      cause = failure;
    }
    left.forEach(
        done -> done.completeExceptionally(new IllegalStateException("not applied", cause)));
  }

  /** Waits for a notification; whether the thread was interrupted. */
  @SuppressWarnings("WaitNotInLoop") // Its callers loop.
  @GuardedBy("lock")
  private boolean await(long millis) {
    try {
      lock.wait(millis);
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  private static void restoreInterrupt(boolean interrupted) {
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
