package io.kvsep.server.redis;

import io.kvsep.server.cluster.LogPosition;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.unix.UnixChannel;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * State of a connection, and its commands that wait. Owned by one thread at a time: its event loop,
 * the executor's thread, or the thread that runs a long command for it. Ownership passes with
 * commands and replies. Fields that other threads read are volatile.
 */
final class Session {
  /** Sends replies, on the connection's event loop. */
  interface Outlet {
    void deliver(RoundReplies delivery);
  }

  /** A key that must not have changed at EXEC; version -1 for an absent key. */
  record Watched(int database, byte[] key, long version) {}

  final long id;
  final Channel channel;
  final Replies replies;
  final Outlet outlet;
  final SocketAddress remote;
  final SocketAddress local;
  final long connectedAtMillis;

  volatile int database;
  volatile String name = "";
  volatile String libraryName = "";
  volatile String libraryVersion = "";
  volatile String lastCommand = "NULL";
  volatile int protocol = 2;

  /** Also read by the event loop, which has lower limits for unauthenticated clients. */
  volatile boolean trusted;

  /** Whether its token allows only reads. */
  volatile boolean onlyReads;

  /** Set by RESET of an authenticated client, and cleared by the event loop. */
  volatile boolean estranged;

  /** Set by the event loop when the connection has ended. */
  volatile boolean gone;

  final Deque<Request> inbox = new ArrayDeque<>();

  /** A turn without requests; preallocated, because there may be no memory when it is needed. */
  final CommandExecutor.Turn nothingNew = new CommandExecutor.Turn(this, List.of(), null);

  /**
   * Accessed only by the event loop: whether the executor's thread owns the session, and the turns
   * it has not finished.
   */
  boolean inLane;

  int turnsInLane;

  /** Turns that the thread has taken since replies were last handed over. */
  int turnsTaken;

  /** Whether the next command in the inbox is not for the event loop that owns the session. */
  boolean leaves;

  /** Number of next reads that are not for event loops, because an earlier one had a long reply. */
  int longReads;

  /** Whether a long command runs elsewhere; later commands wait. */
  boolean parked;

  /** Whether to close the connection after its replies are sent. Never reset. */
  volatile boolean closing;

  /** Whether the current round has this session in its list. */
  boolean touched;

  /** Whether reads may see an older state that the node has; only on a node of a cluster. */
  boolean readsStale;

  /** Indices of the connection's last writes in the logs of a cluster. */
  LogPosition lastWrite = LogPosition.NONE;

  /** Commands in the uncommitted group of a shard, and where their replies begin. */
  int inGroup;

  int groupShard;

  int groupMark;

  /** The database before these commands, because a transaction may change it. */
  int groupDatabase;

  /** When an event loop received the current or last command, by {@link System#nanoTime}. */
  volatile long sinceNanos = System.nanoTime();

  /** Whether commands are left from the last round, so that their time goes on. */
  boolean waits;

  /** Commands answered since replies were last handed over, and their bytes. */
  final CommandMeter.Tally answered = new CommandMeter.Tally();

  long answeredBytes;

  /** Commands after MULTI, null outside a transaction. */
  @Nullable List<Request> queue;

  volatile long queuedBytes;

  /** Number of these commands, for other threads; -1 outside a transaction. */
  volatile int queued = -1;

  /** The shard of the keys of these commands. */
  int queueShard = Command.NO_SHARD;

  /** Whether EXEC will fail, because a queued command was refused. */
  boolean queueBroken;

  final List<Watched> watched = new ArrayList<>();
  long watchedBytes;

  /** Number of watched keys, for other threads. */
  volatile int watchedKeys;

  // Read by other threads; each is written by one thread at a time.
  final AtomicLong commands = new AtomicLong();
  final AtomicLong receivedBytes = new AtomicLong();
  final AtomicLong sentBytes = new AtomicLong();
  final AtomicLong unsentBytes = new AtomicLong();

  Session(long id, Channel channel, Replies replies, Outlet outlet, long nowMillis) {
    this.id = id;
    this.channel = channel;
    this.replies = replies;
    this.outlet = outlet;
    this.remote = channel.remoteAddress();
    this.local = channel.localAddress();
    this.connectedAtMillis = nowMillis;
  }

  void take(Request request) {
    inbox.remove();
    answered.add(CommandMeter.Kind.of(request.command), 1);
    answeredBytes += request.heapBytes();
  }

  /** Puts a command back to the front. If there is no memory for it, the inbox is unchanged. */
  void putBack(Request request) {
    try {
      inbox.addFirst(request);
    } catch (OutOfMemoryError e) {
      // A deque adds the element before it grows. If growing fails, it seems to be empty.
      if (inbox.peekFirst() == request) {
        inbox.pollFirst();
      }
      throw e;
    }
    answered.add(CommandMeter.Kind.of(request.command), -1);
    answeredBytes -= request.heapBytes();
  }

  /** Closes the connection, for lack of memory. Throws nothing. */
  void fail() {
    fail(Unpooled.EMPTY_BUFFER);
  }

  /** Closes the connection and releases its lost replies. Throws nothing. */
  @SuppressWarnings("FutureReturnValueIgnored") // No caller waits for the close.
  void fail(ByteBuf lost) {
    closing = true;
    try {
      try {
        lost.release();
      } finally {
        channel.close();
      }
    } catch (RuntimeException | Error e) {
      // No memory for that either. The connection is closed when it next sends something.
      return;
    }
  }

  /**
   * Reserves bytes for watched keys, where the first ones are free as for a command. Returns
   * whether that was possible. They are kept until {@link #unwatch}, whatever happens to the keys.
   */
  boolean reserveWatched(long bytes, RequestBudget budget) {
    long all = watchedBytes + bytes;
    if (!budget.reserve(beyondFree(all) - beyondFree(watchedBytes))) {
      return false;
    }
    watchedBytes = all;
    return true;
  }

  void unwatch(RequestBudget budget) {
    watched.clear();
    watchedKeys = 0;
    budget.release(beyondFree(watchedBytes));
    watchedBytes = 0;
  }

  /**
   * Queues a command after MULTI. Returns false if there is no memory for it. The first bytes of a
   * transaction are free, as for a command.
   */
  boolean enqueue(List<Request> requests, Request request, RequestBudget budget) {
    long bytes = queuedBytes + request.heapBytes();
    if (!budget.reserve(beyondFree(bytes) - beyondFree(queuedBytes))) {
      return false;
    }
    queuedBytes = bytes;
    requests.add(request);
    queued = requests.size();
    return true;
  }

  private static long beyondFree(long bytes) {
    return Math.max(0, bytes - RequestBudget.FREE_BYTES);
  }

  /** Ends MULTI, drops the watched keys and releases all reservations. */
  void discard(RequestBudget budget) {
    List<Request> requests = queue;
    if (requests != null) {
      for (int i = 0; i < requests.size(); i++) {
        budget.release(requests.get(i).reservedBytes);
      }
      budget.release(beyondFree(queuedBytes));
    }
    queue = null;
    queued = -1;
    queuedBytes = 0;
    queueBroken = false;
    queueShard = Command.NO_SHARD;
    unwatch(budget);
  }

  void count(int more) {
    commands.lazySet(commands.getPlain() + more);
  }

  String address() {
    return text(remote);
  }

  String localAddress() {
    return text(local);
  }

  long ageSeconds(long nowMillis) {
    return Math.max(0, (nowMillis - connectedAtMillis) / 1000);
  }

  /**
   * Describes the session for other threads in the format of CLIENT LIST, with zeros for what is
   * not tracked.
   */
  String describe(long nowMillis) {
    long idleNanos = Math.max(0, System.nanoTime() - sinceNanos);
    return ("id=" + id)
        + (" addr=" + address())
        + (" laddr=" + localAddress())
        + (" fd=" + (channel instanceof UnixChannel unix ? unix.fd().intValue() : -1))
        + (" name=" + name)
        + (" age=" + ageSeconds(nowMillis))
        + (" idle=" + TimeUnit.NANOSECONDS.toSeconds(idleNanos))
        + (" flags=" + (queued < 0 ? "N" : "x"))
        + (" db=" + database)
        + (" sub=0 psub=0 ssub=0 multi=" + queued)
        + (" watch=" + watchedKeys)
        + (" qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=" + queuedBytes)
        + (" rbs=0 rbp=0 obl=0 oll=0 omem=" + unsentBytes.get())
        + (" tot-mem=" + (queuedBytes + unsentBytes.get()))
        + (" events=r cmd=" + lastCommand)
        + (" user=default redir=-1 resp=" + protocol)
        + (" lib-name=" + libraryName)
        + (" lib-ver=" + libraryVersion)
        + (" tot-net-in=" + receivedBytes.get())
        + (" tot-net-out=" + sentBytes.get())
        + (" tot-cmds=" + commands.get());
  }

  private static String text(SocketAddress address) {
    String text = String.valueOf(address);
    return text.substring(text.indexOf('/') + 1);
  }
}
