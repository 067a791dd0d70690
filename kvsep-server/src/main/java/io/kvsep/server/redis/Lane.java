package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Snapshot;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs the commands of all connections of one event loop, on a thread of its own that may wait for
 * the store. The commands of a connection run in their order. What waits when the lane comes round
 * is one round: its writes are committed together, and its replies go back to the loop together.
 *
 * <p>A command that takes long runs elsewhere; only its own connection waits for it. A connection
 * whose replies grow long waits until they are sent.
 */
@SuppressWarnings("FutureReturnValueIgnored") // Nobody waits for a connection to close.
final class Lane {
  /** Replies of one connection that are written before they are sent. */
  private static final int OUTPUT_BYTES_MAX = 256 << 10;

  /** Connections in one round. */
  private static final int ROUND_MAX = 512;

  /**
   * Commands of a connection that arrived together.
   *
   * @param longReplies of a command that ran elsewhere and is done, null for none
   */
  record Turn(Session session, List<Request> requests, @Nullable ByteBuf longReplies) {}

  private final ServerState server;
  private final EventExecutor loop;
  private final Executor longCommands;
  private final ByteBufAllocator allocator;
  private final Entries.Spaces present;
  private final WriteGroup group;
  private final List<Session> touched = new ArrayList<>();
  private final Queue<List<Turn>> queue = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean asleep;
  private volatile boolean stopping;

  /** Of the event loop: what arrived in this pass of it. */
  private List<Turn> arrived = new ArrayList<>();

  Lane(
      ServerState server,
      EventExecutor loop,
      Executor longCommands,
      ByteBufAllocator allocator,
      String name) {
    this.server = server;
    this.loop = loop;
    this.longCommands = longCommands;
    this.allocator = allocator;
    this.present = server.databases().present();
    this.group = new WriteGroup(server);
    this.thread = new Thread(this::run, name);
    thread.setDaemon(true);
    thread.start();
  }

  Replies newReplies() {
    return new Replies(allocator, server.options().limits().replyBytes());
  }

  /** On the event loop: takes commands, and passes all on when the loop has read all sockets. */
  void arrive(Turn turn) {
    arrived.add(turn);
    if (arrived.size() == 1) {
      try {
        loop.execute(this::passOn);
      } catch (RejectedExecutionException e) {
        passOn();
      }
    }
  }

  private void passOn() {
    List<Turn> turns = arrived;
    arrived = new ArrayList<>();
    submit(turns);
  }

  private void submit(List<Turn> turns) {
    queue.add(turns);
    if (asleep) {
      LockSupport.unpark(thread);
    }
  }

  /** Ends the thread when it has done what is there. */
  void stop() {
    stopping = true;
    LockSupport.unpark(thread);
  }

  /** Whether the thread has ended within some time. */
  boolean awaitStop(long millis) throws InterruptedException {
    thread.join(Math.max(1, millis));
    return !thread.isAlive();
  }

  private void run() {
    while (true) {
      List<Turn> turns = queue.poll();
      if (turns == null) {
        if (stopping) {
          return;
        }
        asleep = true;
        if (queue.isEmpty() && !stopping) {
          LockSupport.park(this);
        }
        asleep = false;
        continue;
      }
      try {
        round(turns);
      } catch (RuntimeException | Error e) {
        giveUp();
      }
    }
  }

  /** A mistake of ours in the middle of a round: those it was about are closed, others go on. */
  private void giveUp() {
    for (Session session : touched) {
      session.closing = true;
      session.touched = false;
      session.replies.release();
      session.channel.close();
    }
    touched.clear();
  }

  private void round(List<Turn> first) {
    int served = 0;
    for (List<Turn> turns = first;
        turns != null;
        turns = served < ROUND_MAX ? queue.poll() : null) {
      for (Turn turn : turns) {
        serve(turn);
      }
      served += turns.size();
    }
    group.commit();
    handOver();
  }

  private void serve(Turn turn) {
    Session session = turn.session();
    session.inbox.addAll(turn.requests());
    touch(session);
    if (turn.longReplies() != null) {
      session.parked = false;
      session.answered++;
      session.replies.append(turn.longReplies());
    }
    try {
      while (!session.inbox.isEmpty()
          && !session.parked
          && !session.closing
          && !session.gone
          && session.replies.length() < OUTPUT_BYTES_MAX) {
        dispatch(session, session.inbox.remove());
      }
    } catch (RuntimeException | Error e) {
      // A mistake of ours, or no memory even for the reply: the others go on.
      session.closing = true;
    }
    if (session.closing || session.gone) {
      abandon(session);
    }
  }

  /** Nobody waits for an answer to what is left. */
  private void abandon(Session session) {
    for (Request request : session.inbox) {
      session.answered++;
      session.answeredBytes += request.bytes;
      server.budget().release(request.reservedBytes);
    }
    session.inbox.clear();
    if (session.inGroup > 0) {
      group.commit();
    }
    session.discard(server.budget());
  }

  private void touch(Session session) {
    if (!session.touched) {
      session.touched = true;
      touched.add(session);
    }
  }

  private void dispatch(Session session, Request request) {
    if (session.queue != null && session.inGroup > 0) {
      // EXEC is in the group; only behind it is there no transaction any more.
      group.commit();
    }
    session.answered++;
    session.answeredBytes += request.bytes;
    if (request.protocolError != null) {
      settle(session);
      session.replies.begin();
      session.replies.error("ERR Protocol error: " + request.protocolError);
      session.closing = true;
      return;
    }
    Command command = server.commands().find(request.arguments[0]);
    String refusal = refusal(session, command, request);
    if (command == null || refusal != null) {
      settle(session);
      session.queueBroken = session.queue != null;
      session.replies.begin();
      session.replies.error(String.valueOf(refusal));
      server.budget().release(request.reservedBytes);
      return;
    }
    session.lastCommand = command.name();
    boolean ends = command.name().equals(TransactionCommands.EXEC);
    if (session.queue != null && command.kind() != Command.Kind.CONTROL && !ends) {
      enqueue(session, session.queue, request);
      return;
    }
    if (command.kind() == Command.Kind.WRITE) {
      group.add(session, command, request);
      if (group.isFull()) {
        group.commit();
      }
      return;
    }
    settle(session);
    if (command.kind() == Command.Kind.LONG_READ) {
      park(session, command, request);
    } else {
      run(session, command, request, session.replies);
      server.budget().release(request.reservedBytes);
    }
  }

  /** What is wrong with a command before it is looked at closer, null for nothing. */
  private @Nullable String refusal(Session session, @Nullable Command command, Request request) {
    if (command == null) {
      return unknown(request.arguments);
    }
    if (!command.takes(request.arguments.length)) {
      return CommandError.wrongArity(command.name()).reply();
    }
    if (!session.trusted && !SessionCommands.mayComeFirst(command)) {
      return "NOAUTH Authentication required.";
    }
    if (session.queue != null && !TransactionCommands.mayBeQueued(command)) {
      return "ERR Command not allowed inside a transaction";
    }
    try {
      command.checkKeys(request.arguments);
    } catch (CommandError e) {
      return e.reply();
    }
    return null;
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

  private void enqueue(Session session, List<Request> queued, Request request) {
    Replies out = session.replies;
    out.begin();
    long cost = request.bytes + 100L + 24L * request.arguments.length;
    if (queued.size() >= server.options().limits().arguments() || !server.budget().reserve(cost)) {
      session.queueBroken = true;
      out.error("ERR the transaction is too large");
      server.budget().release(request.reservedBytes);
      return;
    }
    session.queuedBytes += cost;
    queued.add(request);
    out.simple("QUEUED");
  }

  /** Commits before something that must see what the connection has written. */
  private void settle(Session session) {
    if (session.inGroup > 0) {
      group.commit();
    }
  }

  private void park(Session session, Command command, Request request) {
    session.parked = true;
    session.answered--;
    Replies out = newReplies();
    out.protocol(session.protocol);
    Runnable work =
        () -> {
          run(session, command, request, out);
          server.budget().release(request.reservedBytes);
          submit(List.of(new Turn(session, List.of(), out.take())));
        };
    try {
      longCommands.execute(work);
    } catch (RejectedExecutionException e) {
      work.run();
    }
  }

  private void run(Session session, Command command, Request request, Replies out) {
    int mark = out.begin();
    try {
      if (command.kind() == Command.Kind.READ_TOGETHER && request.arguments.length > 2) {
        try (Snapshot snapshot = server.store().snapshot()) {
          Entries.Spaces spaces = server.databases().in(snapshot);
          call(session, command, request, out, spaces);
        }
      } else {
        call(session, command, request, out, present);
      }
    } catch (RuntimeException | Error e) {
      server.failed(e);
      out.cutBackTo(mark);
      out.error(StoreErrors.reply(e));
    }
  }

  private void call(
      Session session, Command command, Request request, Replies out, Entries.Spaces spaces) {
    command.body().run(new Call(server, session, spaces, out, command.name(), request.arguments));
  }

  /** Everything that was answered in this round goes back to the event loop. */
  private void handOver() {
    List<Delivery> deliveries = new ArrayList<>(touched.size());
    long answered = 0;
    for (Session session : touched) {
      boolean hasMore = !session.inbox.isEmpty() && !session.parked;
      deliveries.add(
          new Delivery(
              session,
              session.replies.take(),
              session.answered,
              session.answeredBytes,
              hasMore,
              session.closing));
      answered += session.answered;
      session.answered = 0;
      session.answeredBytes = 0;
      session.touched = false;
    }
    touched.clear();
    server.processed(answered);
    try {
      loop.execute(
          () -> deliveries.forEach(delivery -> delivery.session().outlet.deliver(delivery)));
    } catch (RejectedExecutionException e) {
      deliveries.forEach(delivery -> delivery.replies().release());
    }
  }
}
