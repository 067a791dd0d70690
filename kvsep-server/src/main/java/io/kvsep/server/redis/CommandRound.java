package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Snapshot;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Carries out commands of many connections on one thread, those of each in their order. What is
 * served between {@link #begin} and {@link #end} is a round: its writes are committed together, and
 * its replies are handed over together. A connection whose replies grow long waits until they are
 * sent.
 *
 * <p>On a thread that may wait, everything is carried out; what is left of a connection after some
 * time waits for the next round, so that others come in between. On an event loop only what is over
 * soon is, and a round ends after some time, with the rest left for the next. A connection whose
 * next command is not for the loop {@linkplain Session#leaves leaves}, with that command and all
 * behind it in its inbox; so does one that has written where the store would have to be waited for.
 */
final class CommandRound {
  /** Replies of one connection that are written before they are sent. */
  private static final int OUTPUT_BYTES_MAX = 256 << 10;

  /** After this time an event loop looks at its sockets again. */
  private static final long LOOP_NANOS_MAX = 2_000_000;

  /** After this time a thread that may wait turns to the next connection, between two commands. */
  private static final long TURN_NANOS_MAX = 10_000_000;

  /** Commands that are over soon between two looks at the clock; a power of two. */
  private static final int CLOCK_INTERVAL = 32;

  /** Values longer than this are not for event loops. */
  private static final int LONG_REPLY_BYTES = 64 << 10;

  /** Reads of a connection that are not either, after it has met with such a value. */
  private static final int LONG_READS = 64;

  private final ServerState server;
  private final CommandExecutor lane;
  private final boolean mayWait;
  private final ReadPace pace;
  private final Entries.Spaces present;
  private final WriteGroup group;
  private final List<Session> touched = new ArrayList<>();

  /** Of connections of which nothing was left from before. */
  private final CommandMeter.Tally tally = new CommandMeter.Tally();

  private long startNanos;
  private int steps;
  private boolean over;
  private int reads;

  /** When a thread that may wait turned to the connection that is served. */
  private long turnNanos;

  /** Whether what was carried out last may have taken long. */
  private boolean clockIsDue;

  CommandRound(ServerState server, CommandExecutor lane, ReadPace pace, boolean mayWait) {
    this.server = server;
    this.lane = lane;
    this.mayWait = mayWait;
    this.pace = pace;
    this.present = server.databases().present();
    this.group = new WriteGroup(server);
  }

  /** Returns when it began, on an event loop. */
  long begin() {
    over = false;
    startNanos = mayWait ? 0 : System.nanoTime();
    return startNanos;
  }

  /** Whether the time of an event loop was over before everything was carried out. */
  boolean isOver() {
    return over;
  }

  /**
   * Carries out what the connection has in its inbox, as far as it may. Throws nothing: what goes
   * wrong beyond a reply ends the connection.
   *
   * @param sinceNanos when an event loop had what has come last
   */
  void serve(Session session, long sinceNanos) {
    try {
      touch(session, sinceNanos);
      beginTurn();
      while (goesOn(session)) {
        dispatch(session, session.inbox.element());
      }
    } catch (RuntimeException | Error e) {
      // A mistake of ours, or no memory even for the reply: the others go on.
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

  /** Whether the loop, or the connection whose turn it is, may go on. */
  private boolean hasTime() {
    if (!over && (clockIsDue || (++steps & CLOCK_INTERVAL - 1) == 0)) {
      clockIsDue = false;
      long now = System.nanoTime();
      over = mayWait ? now - turnNanos > TURN_NANOS_MAX : now - startNanos > LOOP_NANOS_MAX;
    }
    return !over;
  }

  /** Nobody waits for an answer to what is left. */
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

  /** Carries out the first command of the inbox, or has the connection leave. */
  private void dispatch(Session session, Request request) {
    if (!mayWait && !isForLoop(session, request)) {
      session.leaves = true;
      return;
    }
    // EXEC may be in the group; only behind it is there no transaction any more.
    if (session.queue != null && !settle(session)) {
      return;
    }
    Command command = request.command;
    String refusal = refusal(session, request);
    boolean writes = command != null && command.kind() == Command.Kind.WRITE && refusal == null;
    if (!writes && !settle(session)) {
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
    if (group.isFull()) {
      commit();
    }
  }

  /** Whether the request is kept for later, with what is reserved for it; not when this throws. */
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
      group.add(session, command, request);
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

  /** Whether it is worth a look at the clock; that of a write is taken when it is committed. */
  private boolean mayTakeLong(Session session, Command command, Request request) {
    if (command.kind() == Command.Kind.WRITE || session.queue != null) {
      return false;
    }
    return !command.isQuick(request)
        || (command.reads() && (session.longReads > 0 || pace.isSlow()));
  }

  /** What others may look at is not written more often than it changes. */
  private static void note(Session session, Command command, Request request) {
    String name = command.fullName(request.arguments);
    if (!session.lastCommand.equals(name)) {
      session.lastCommand = name;
    }
  }

  /** Whether an event loop may carry the command out. */
  private boolean isForLoop(Session session, Request request) {
    if (session.queue != null || !server.databases().isKnown(session.database)) {
      return false;
    }
    Command command = request.command;
    return command == null
        || (command.isQuick(request)
            && !(command.reads() && (session.longReads > 0 || pace.isSlow())));
  }

  private void refuse(Session session, Request request, String refusal) {
    Command command = request.command;
    session.replies.begin();
    if (command != null && command.name().equals(TransactionCommands.EXEC) && session.trusted) {
      // It ends the transaction whatever is wrong with it.
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

  /** What is wrong with a command before it is looked at closer, null for nothing. */
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

  /** Whether there was room for it. */
  private boolean enqueue(Session session, List<Request> queued, Request request) {
    Replies out = session.replies;
    out.begin();
    if (queued.size() >= server.options().limits().arguments()
        || !session.enqueue(queued, request, server.budget())) {
      session.queueBroken = true;
      out.error("ERR the transaction is too large");
      return false;
    }
    out.simple("QUEUED");
    return true;
  }

  /**
   * Commits before something that must see what the connection has written. Whether that was
   * possible; otherwise some of it may come first again, or the connection leaves.
   */
  private boolean settle(Session session) {
    return session.inGroup == 0 || commit();
  }

  private boolean commit() {
    clockIsDue = mayWait;
    return mayWait ? group.commit() : group.tryCommit();
  }

  /** Whether it has its reply. */
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
   * Carries out a command that does not write; whether it has its reply. On an event loop it has
   * none where a keyspace was dropped behind our back: another is made by who may wait.
   */
  boolean run(Session session, Command command, Request request, Replies out) {
    int mark = out.begin();
    try {
      runOnce(session, command, request, out);
    } catch (RuntimeException | Error e) {
      out.cutBackTo(mark);
      if (!server.mayGoWellAgain(e)) {
        out.error(StoreErrors.reply(e));
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
      out.error(StoreErrors.reply(e));
    }
  }

  private void runOnce(Session session, Command command, Request request, Replies out) {
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

  /** Commits; what is to go to each connection that was served. */
  List<RoundReplies> end() {
    if (!group.isEmpty()) {
      commit();
    }
    List<RoundReplies> deliveries = new ArrayList<>(touched.size());
    try {
      addDeliveries(deliveries);
    } catch (RuntimeException | Error e) {
      // Those they are for are closed when the round is given up.
      for (int i = 0; i < deliveries.size(); i++) {
        deliveries.get(i).replies().release();
      }
      throw e;
    }
    touched.clear();
    return deliveries;
  }

  /**
   * Connections of which nothing was carried out come first, and so they do in the next round: what
   * was given back to them was behind the writes of others that had made too much.
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
   * A mistake of ours in the middle of a round, or no memory: those it was about are closed, others
   * go on. Throws nothing, and makes no objects.
   */
  void giveUp() {
    group.giveUp();
    for (int i = 0; i < touched.size(); i++) {
      Session session = touched.get(i);
      session.touched = false;
      session.fail(session.replies.take());
    }
    touched.clear();
  }
}
