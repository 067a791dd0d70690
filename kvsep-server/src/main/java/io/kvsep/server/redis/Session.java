package io.kvsep.server.redis;

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
 * What a connection has chosen, and the commands of it that wait for their turn. Belongs to its
 * event loop, or to the loop's lane, or to the thread that runs a long command for it: to one at a
 * time, and it is passed on with its commands and replies. What others may look at is volatile.
 */
final class Session {
  /** Takes replies to the socket, on the connection's event loop. */
  interface Outlet {
    void deliver(RoundReplies delivery);
  }

  /** A key that must not have changed when EXEC comes; the version is -1 for an absent one. */
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

  /** Read by the event loop, which is stricter with strangers. */
  volatile boolean trusted;

  /** Whether the token it has given only reads. */
  volatile boolean onlyReads;

  /** Set by RESET when it had given the token, and taken back by the event loop. */
  volatile boolean estranged;

  /** Set by the event loop when there is nobody left to answer. */
  volatile boolean gone;

  final Deque<Request> inbox = new ArrayDeque<>();

  /** For when the lane is to look at it; made here, as memory may lack then. */
  final CommandExecutor.Turn nothingNew = new CommandExecutor.Turn(this, List.of(), null);

  /** Of the event loop: whether it belongs to the lane, and turns the lane is not through with. */
  boolean inLane;

  int turnsInLane;

  /** Turns that were taken from those since replies were last handed over. */
  int turnsTaken;

  /** Whether what is in the inbox is not for the event loop that has it. */
  boolean leaves;

  /** So many more reads of it are not for event loops: one before had a long reply. */
  int longReads;

  /** Whether a long command runs for it elsewhere; everything behind it waits. */
  boolean parked;

  /** Whether the connection is to be closed once what was written is sent. Stays so. */
  volatile boolean closing;

  /** Whether it is in the list of those that a round has replies for. */
  boolean touched;

  /** Commands of it in the group that is not committed yet, and where their replies begin. */
  int inGroup;

  int groupMark;

  /** The database before them, which a transaction may change on its way. */
  int groupDatabase;

  /**
   * When an event loop first had what is being carried out, or was last, by {@link
   * System#nanoTime}.
   */
  volatile long sinceNanos = System.nanoTime();

  /** Whether commands of it are left from the last round, so that their time goes on. */
  boolean waits;

  /** Commands answered since the replies were last handed over, and their bytes. */
  final CommandMeter.Tally answered = new CommandMeter.Tally();

  long answeredBytes;

  /** Commands after MULTI, null outside. */
  @Nullable List<Request> queue;

  volatile long queuedBytes;

  /** How many these are, for others to see; -1 outside. */
  volatile int queued = -1;

  /** Whether EXEC will refuse what is queued, as something in it was refused before. */
  boolean queueBroken;

  final List<Watched> watched = new ArrayList<>();
  long watchedBytes;

  /** How many these are, for others to see. */
  volatile int watchedKeys;

  // What others may look at; each is written by one thread at a time.
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

  /** The next command was taken from the inbox and is being answered. */
  void take(Request request) {
    inbox.remove();
    answered.add(CommandMeter.Kind.of(request.command), 1);
    answeredBytes += request.heapBytes();
  }

  /** It comes first again. Where there is no memory for that, the inbox is as it was. */
  void putBack(Request request) {
    try {
      inbox.addFirst(request);
    } catch (OutOfMemoryError e) {
      // It takes its place before there is room for it, and without room there seems to be nothing.
      if (inbox.peekFirst() == request) {
        inbox.pollFirst();
      }
      throw e;
    }
    answered.add(CommandMeter.Kind.of(request.command), -1);
    answeredBytes -= request.heapBytes();
  }

  /** Ends the connection, as memory lacks for it. Throws nothing. */
  void fail() {
    fail(Unpooled.EMPTY_BUFFER);
  }

  /** The same, without replies that it should have had. */
  @SuppressWarnings("FutureReturnValueIgnored") // Nobody waits for a connection to close.
  void fail(ByteBuf lost) {
    closing = true;
    try {
      try {
        lost.release();
      } finally {
        channel.close();
      }
    } catch (RuntimeException | Error e) {
      // No memory for that either: it ends when something comes from it the next time.
      return;
    }
  }

  /**
   * Whether there is room for so many more bytes of watched keys; as of a command, the first are
   * free. They are kept until {@link #unwatch}, whatever becomes of the keys.
   */
  boolean reserveWatched(long bytes, RequestBudget budget) {
    long all = watchedBytes + bytes;
    if (!budget.reserve(beyondFree(all) - beyondFree(watchedBytes))) {
      return false;
    }
    watchedBytes = all;
    return true;
  }

  /** Forgets watched keys; gives back what they had reserved. */
  void unwatch(RequestBudget budget) {
    watched.clear();
    watchedKeys = 0;
    budget.release(beyondFree(watchedBytes));
    watchedBytes = 0;
  }

  /**
   * Queues a command behind MULTI, if there is room for it; as of a command, the first bytes of a
   * transaction are free.
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

  /** Leaves MULTI and forgets watched keys; gives back what these and commands had reserved. */
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
    unwatch(budget);
  }

  /** So many more commands were answered. */
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

  /** As far as others see it, in the words of CLIENT LIST; zeros for what is not kept here. */
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
