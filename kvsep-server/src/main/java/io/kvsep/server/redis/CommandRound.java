package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Snapshot;
import io.kvsep.server.cluster.ClusterNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Executes commands of many connections on one thread, those of each connection in order. A round
 * lasts from {@link #begin} to {@link #end}: its writes are committed together and its replies
 * handed over together. A connection with long replies waits until they are sent.
 *
 * <p>A thread that may wait executes everything; after some time it leaves the rest of a connection
 * for the next round, so that other connections get their turn. An event loop executes only short
 * commands, and ends its round after some time, with the rest left for the next one. A connection
 * {@linkplain Session#leaves leaves} the loop, with its remaining commands in the inbox, if the
 * next of them is not for the loop, or if its writes would have to wait for the store.
 */
final class CommandRound {
  /** Bytes of replies of one connection after which they are sent. */
  private static final int OUTPUT_BYTES_MAX = 256 << 10;

  /** Time after which an event loop returns to its sockets. */
  private static final long LOOP_NANOS_MAX = 2_000_000;

  /** Time after which a thread that may wait turns to the next connection. */
  private static final long TURN_NANOS_MAX = 10_000_000;

  /** Short commands between two looks at the clock; a power of two. */
  private static final int CLOCK_INTERVAL = 32;

  /** Longer values are not for event loops. */
  private static final int LONG_REPLY_BYTES = 64 << 10;

  /** Number of reads that a connection does off the event loop after it has read such a value. */
  private static final int LONG_READS = 64;

  private final ServerState server;
  private final CommandExecutor lane;
  private final boolean mayWait;
  private final ReadPace pace;
  private final Entries.Spaces present;
  private final @Nullable ClusterNode node;
  private final @Nullable RoundCalls calls;
  private final WriteGroups groups;
  private final List<Session> touched = new ArrayList<>();

  /** Commands of connections that had nothing left over from an earlier round. */
  private final CommandMeter.Tally tally = new CommandMeter.Tally();

  private long startNanos;
  private int steps;
  private boolean over;
  private int reads;

  /** When a thread that may wait began to serve the current connection. */
  private long turnNanos;

  /** Whether the last command may have taken long. */
  private boolean clockIsDue;

  CommandRound(ServerState server, CommandExecutor lane, ReadPace pace, boolean mayWait) {
    this.server = server;
    this.lane = lane;
    this.mayWait = mayWait;
    this.pace = pace;
    this.present = server.databases().present();
    this.node = server.node();
    this.calls = node == null ? null : new RoundCalls(node);
    this.groups = new WriteGroups(server, calls);
  }

  /** Begins a round. Returns the start time on an event loop, 0 on a thread that may wait. */
  long begin() {
    over = false;
    if (calls != null) {
      calls.begin();
    }
    startNanos = mayWait ? 0 : System.nanoTime();
    return startNanos;
  }

  /** Whether the time ran out before everything was executed. */
  boolean isOver() {
    return over;
  }

  /**
   * Executes commands from the connection's inbox as far as allowed. Throws nothing: an error that
   * cannot be a reply ends the connection.
   *
   * @param sinceNanos when an event loop received the newest of them
   */
  void serve(Session session, long sinceNanos) {
    try {
      touch(session, sinceNanos);
      beginTurn();
      while (goesOn(session)) {
        dispatch(session, session.inbox.element());
      }
    } catch (RuntimeException | Error e) {
      // A bug, or no memory even for the reply. Other connections continue.
      session.closing = true;
      if (!session.touched) {
        session.fail();
      }
    }
    if (session.closing || session.gone) {
      abandon(session);
    }
  }

  private void touch(Session session, long sinceNanos) {
    if (!session.touched) {
      touched.add(session);
      session.touched = true;
      if (!session.waits) {
        session.sinceNanos = sinceNanos;
      }
    }
  }

  private boolean goesOn(Session session) {
    return !session.inbox.isEmpty()
        && !session.parked
        && !session.closing
        && !session.gone
        && !session.leaves
        && session.replies.length() < OUTPUT_BYTES_MAX
        && hasTime();
  }

  private void beginTurn() {
    if (mayWait) {
      over = false;
      clockIsDue = false;
      turnNanos = System.nanoTime();
    }
  }

  private boolean hasTime() {
    if (!over && (clockIsDue || (++steps & CLOCK_INTERVAL - 1) == 0)) {
      clockIsDue = false;
      long now = System.nanoTime();
      over = mayWait ? now - turnNanos > TURN_NANOS_MAX : now - startNanos > LOOP_NANOS_MAX;
    }
    return !over;
  }

  /** Drops the remaining commands; no client waits for their replies. */
  private void abandon(Session session) {
    try {
      settle(session);
    } catch (RuntimeException | Error e) {
      session.closing = true;
    }
    session.leaves = false;
    while (!session.inbox.isEmpty()) {
      Request request = session.inbox.element();
      session.take(request);
      server.budget().release(request.reservedBytes);
    }
    session.discard(server.budget());
  }

  /** Executes the first command of the inbox, or makes the connection leave. */
  private void dispatch(Session session, Request request) {
    if (!mayWait && !isForLoop(session, request)) {
      session.leaves = true;
      return;
    }
    // The group may contain EXEC, and the transaction lasts until that is committed.
    if (session.queue != null && !settle(session)) {
      return;
    }
    Command command = request.command;
    String refusal = refusal(session, request);
    Command write =
        command != null && command.kind() == Command.Kind.WRITE && refusal == null ? command : null;
    if (!(write != null && mayJoin(session, write, request)) && !settle(session)) {
      return;
    }
    boolean alone = write != null && isOfAllShards(write, request);
    if (alone && !groups.isEmpty() && !commit()) {
      return;
    }
    session.take(request);
    boolean kept = false;
    try {
      kept = carryOut(session, request, refusal);
    } finally {
      if (!kept) {
        server.budget().release(request.reservedBytes);
      }
    }
    if (alone || groups.isFull()) {
      commit();
    }
  }

  /** Whether a write goes into the same group as earlier ones of the connection. */
  private boolean mayJoin(Session session, Command command, Request request) {
    return session.inGroup == 0 || session.groupShard == shardToWrite(session, command, request);
  }

  /** Whether a write cannot be in a batch, which is of one shard. */
  private boolean isOfAllShards(Command command, Request request) {
    return server.shards() > 1
        && command.firstKey() == 0
        && command.onlyWrites().test(request.arguments);
  }

  private int shardToWrite(Session session, Command command, Request request) {
    int shard =
        command.name().equals(TransactionCommands.EXEC)
            ? session.queueShard
            : shard(command, request);
    return Math.max(0, shard);
  }

  private int shard(Command command, Request request) {
    return node == null || node.shards() == 1
        ? 0
        : command.shard(request.arguments, node, Command.NO_SHARD);
  }

  /**
   * Returns whether the request is kept for later, with its reservation. It is not if this throws.
   */
  private boolean carryOut(Session session, Request request, @Nullable String refusal) {
    Command command = request.command;
    if (command == null || refusal != null) {
      refuse(session, request, String.valueOf(refusal));
      return false;
    }
    note(session, command, request);
    clockIsDue |= mayWait && mayTakeLong(session, command, request);
    boolean ends = command.name().equals(TransactionCommands.EXEC);
    if (session.queue != null && command.kind() != Command.Kind.CONTROL && !ends) {
      return enqueue(session, session.queue, request);
    }
    if (command.kind() == Command.Kind.WRITE) {
      groups.add(shardToWrite(session, command, request), session, command, request);
      return true;
    }
    if (command.kind() == Command.Kind.LONG_READ) {
      lane.park(session, command, request);
      return true;
    }
    boolean done =
        command.reads()
            ? read(session, command, request)
            : run(session, command, request, session.replies);
    if (!done) {
      session.putBack(request);
      session.leaves = true;
    }
    return !done;
  }

  /** Whether the clock should be read afterwards. For a write it is read at the commit. */
  private boolean mayTakeLong(Session session, Command command, Request request) {
    if (command.kind() == Command.Kind.WRITE || session.queue != null) {
      return false;
    }
    return !command.isQuick(request)
        || (command.reads() && (session.longReads > 0 || pace.isSlow()));
  }

  /** Other threads read the field, so it is written only when it changes. */
  private static void note(Session session, Command command, Request request) {
    String name = command.fullName(request.arguments);
    if (!session.lastCommand.equals(name)) {
      session.lastCommand = name;
    }
  }

  private boolean isForLoop(Session session, Request request) {
    if (session.queue != null || !server.databases().isKnown(session.database)) {
      return false;
    }
    Command command = request.command;
    if (command != null && node != null && waitsForNodes(session, command, node)) {
      return false;
    }
    return command == null
        || (command.isQuick(request)
            && !(command.reads() && (session.longReads > 0 || pace.isSlow())));
  }

  private static boolean waitsForNodes(Session session, Command command, ClusterNode node) {
    return command.kind() == Command.Kind.WRITE
        || (command.reads() && !(session.readsStale && node.hasApplied(session.lastWrite)));
  }

  private void refuse(Session session, Request request, String refusal) {
    Command command = request.command;
    session.replies.begin();
    if (command != null && command.name().equals(TransactionCommands.EXEC) && session.trusted) {
      // EXEC ends the transaction even if it is refused.
      session.discard(server.budget());
      session.replies.error(TransactionCommands.abort(refusal));
      return;
    }
    session.replies.error(refusal);
    if (request.protocolError == null) {
      session.queueBroken = session.queue != null;
    } else {
      session.closing = true;
    }
  }

  /** Returns the reason to refuse a command before it runs, null for none. */
  private @Nullable String refusal(Session session, Request request) {
    Command command = request.command;
    if (request.protocolError != null) {
      return "ERR Protocol error: " + request.protocolError;
    }
    if (command == null) {
      return unknown(request.arguments);
    }
    try {
      command.checkArguments(request.arguments);
      if (!session.trusted && !SessionCommands.mayComeFirst(command)) {
        return "NOAUTH Authentication required.";
      }
      if (!SessionCommands.isPermitted(session, command)) {
        return "NOPERM this token only reads, and may not run the '" + command.name() + "' command";
      }
      command.checkKeys(request.arguments);
      if (node != null && node.shards() > 1) {
        int before = session.queue == null ? Command.NO_SHARD : session.queueShard;
        int unusedShard = command.shard(request.arguments, node, before);
      }
    } catch (CommandError e) {
      return e.reply();
    }
    return session.queue == null ? null : TransactionCommands.refusal(command);
  }

  private static String unknown(byte[][] arguments) {
    StringBuilder shown = new StringBuilder();
    for (int i = 1; i < arguments.length && shown.length() < 128; i++) {
      shown.append('\'').append(cut(arguments[i], 128 - shown.length())).append("' ");
    }
    return "ERR unknown command '"
        + cut(arguments[0], 128)
        + "', with args beginning with: "
        + shown;
  }

  private static String cut(byte[] text, int max) {
    return new String(text, 0, Math.min(max, text.length), UTF_8);
  }

  /** Returns false if the transaction would be too large. */
  private boolean enqueue(Session session, List<Request> queued, Request request) {
    Replies out = session.replies;
    out.begin();
    if (queued.size() >= server.options().limits().arguments()
        || !session.enqueue(queued, request, server.budget())) {
      session.queueBroken = true;
      out.error("ERR the transaction is too large");
      return false;
    }
    Command command = request.command;
    if (command != null && node != null && node.shards() > 1) {
      session.queueShard = command.shard(request.arguments, node, session.queueShard);
    }
    out.simple("QUEUED");
    return true;
  }

  /**
   * Commits the connection's writes before a command that must see them. Returns false if that
   * failed; then some of them may be back in the inbox, or the connection leaves.
   */
  private boolean settle(Session session) {
    return session.inGroup == 0 || commit();
  }

  private boolean commit() {
    clockIsDue = mayWait;
    return mayWait ? groups.commit() : groups.tryCommit();
  }

  /** Returns whether the command has its reply. */
  private boolean read(Session session, Command command, Request request) {
    boolean timed = (++reads & ReadPace.INTERVAL - 1) == 0;
    long start = timed ? System.nanoTime() : 0;
    int before = session.replies.length();
    if (!run(session, command, request, session.replies)) {
      return false;
    }
    if (timed && command.isQuick(request)) {
      pace.note(System.nanoTime() - start);
    }
    if (session.replies.length() - before > LONG_REPLY_BYTES) {
      session.longReads = LONG_READS;
    } else if (session.longReads > 0) {
      session.longReads--;
    }
    return true;
  }

  /**
   * Runs a command that does not write. Returns whether it has its reply. On an event loop it has
   * none if another user of the store has dropped a keyspace: a thread that may wait creates it
   * again.
   */
  boolean run(Session session, Command command, Request request, Replies out) {
    int mark = out.begin();
    try {
      runOnce(session, command, request, out);
    } catch (RuntimeException | Error e) {
      out.cutBackTo(mark);
      if (!server.mayGoWellAgain(e)) {
        out.error(server.reply(e));
      } else if (mayWait) {
        runAgain(session, command, request, out, mark);
      } else {
        return false;
      }
    }
    return true;
  }

  private void runAgain(Session session, Command command, Request request, Replies out, int mark) {
    try {
      runOnce(session, command, request, out);
    } catch (RuntimeException | Error e) {
      out.cutBackTo(mark);
      out.error(server.reply(e));
    }
  }

  private void runOnce(Session session, Command command, Request request, Replies out) {
    if (calls == null || command.kind() == Command.Kind.SESSION) {
      runInCall(session, command, request, out);
    } else if (command.kind() == Command.Kind.LONG_READ) {
      runLong(session, command, request, out);
    } else {
      int shard = shard(command, request);
      try (ClusterNode.Call call = calls.begin(session, shard)) {
        runInCall(session, command, request, out);
        if (!session.readsStale) {
          calls.end(call);
        }
      } catch (RuntimeException e) {
        calls.failed(e, shard);
        throw e;
      }
    }
  }

  /** On another thread than the round. */
  private void runLong(Session session, Command command, Request request, Replies out) {
    RoundCalls own = new RoundCalls(Objects.requireNonNull(node));
    try (ClusterNode.Call call = own.begin(session, shard(command, request))) {
      runInCall(session, command, request, out);
    }
  }

  private void runInCall(Session session, Command command, Request request, Replies out) {
    if (command.kind() == Command.Kind.READ_TOGETHER && request.arguments.length > 2) {
      try (Snapshot snapshot = server.store().snapshot()) {
        Entries.Spaces spaces = server.databases().in(snapshot);
        call(session, command, request, out, spaces);
      }
    } else {
      call(session, command, request, out, present);
    }
  }

  private void call(
      Session session, Command command, Request request, Replies out, Entries.Spaces spaces) {
    command.body().run(new Call(server, session, spaces, out, command.name(), request.arguments));
  }

  /** Commits, and returns what each connection of the round is to be sent. */
  List<RoundReplies> end() {
    if (!groups.isEmpty()) {
      commit();
    }
    List<RoundReplies> deliveries = new ArrayList<>(touched.size());
    try {
      addDeliveries(deliveries);
    } catch (RuntimeException | Error e) {
      // Their connections are closed by {@link #giveUp}.
      for (int i = 0; i < deliveries.size(); i++) {
        deliveries.get(i).replies().release();
      }
      throw e;
    }
    touched.clear();
    return deliveries;
  }

  /**
   * Connections without any answer come first, now and so in the next round: their commands were
   * put back because writes of others had produced too much.
   */
  private void addDeliveries(List<RoundReplies> deliveries) {
    long nowNanos = System.nanoTime();
    long answered = 0;
    for (Session session : touched) {
      if (session.answered.sum() == 0) {
        addDelivery(deliveries, session, nowNanos);
      }
    }
    for (Session session : touched) {
      if (session.touched) {
        answered += session.answered.sum();
        addDelivery(deliveries, session, nowNanos);
      }
    }
    server.meter().record(tally, nowNanos - startNanos);
    tally.clear();
    server.rate().add(answered, nowNanos);
  }

  private void addDelivery(List<RoundReplies> deliveries, Session session, long nowNanos) {
    boolean waits = !session.inbox.isEmpty();
    deliveries.add(
        new RoundReplies(
            session,
            session.replies.take(),
            session.answered.sum(),
            session.answeredBytes,
            session.turnsTaken,
            !waits && !session.parked,
            waits && !session.parked && !session.leaves,
            session.closing));
    if (session.sinceNanos == startNanos) {
      tally.add(session.answered);
    } else {
      server.meter().record(session.answered, nowNanos - session.sinceNanos);
    }
    session.count(session.answered.sum());
    session.answered.clear();
    session.waits = waits || session.parked;
    session.answeredBytes = 0;
    session.turnsTaken = 0;
    session.touched = false;
  }

  /**
   * Closes the connections of a round that failed because of a bug or lack of memory; other
   * connections continue. Throws nothing and allocates nothing.
   */
  void giveUp() {
    groups.giveUp();
    for (int i = 0; i < touched.size(); i++) {
      Session session = touched.get(i);
      session.touched = false;
      session.fail(session.replies.take());
    }
    touched.clear();
  }
}
