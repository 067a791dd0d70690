package io.kvsep.server.redis;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs the commands of all connections of one event loop, in order for each connection. Short
 * commands run on the loop after it has read all sockets; all others run on a thread that may wait
 * for the store. From its first command that is not for the loop, a connection belongs to the
 * thread until it has nothing left there; until then all its commands run there.
 *
 * <p>Long commands run on another executor; only their own connection waits for them.
 *
 * <p>If memory runs out, the affected connections are closed and the others continue. So the code
 * that passes work on avoids allocation: it iterates lists by index.
 */
@SuppressWarnings("FutureReturnValueIgnored") // Scheduled tasks run unless the loop has ended.
final class CommandExecutor {
  /** Turns in one round of the thread. */
  private static final int ROUND_MAX = 512;

  /**
   * Commands of a connection that arrived together.
   *
   * @param longReplies replies of a long command that has finished, null for none
   */
  record Turn(Session session, List<Request> requests, @Nullable ByteBuf longReplies) {}

  /** Turns for the thread, and the time at which the loop received them. */
  private record Batch(List<Turn> turns, long sinceNanos) {}

  private final ServerState server;
  private final EventExecutor loop;
  private final Executor longCommands;
  private final ByteBufAllocator allocator;
  private final WholeCommands wholeCommands;
  private final CommandRound onThread;
  private final Queue<Batch> queue = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean asleep;
  private volatile boolean stopping;

  // The fields below are accessed only on the event loop.
  private final CommandRound onLoop;
  private final Runnable passing = this::pass;
  private final List<Turn> arrived = new ArrayList<>();

  /** Whether a run of {@link #pass} is scheduled that will handle what arrives. */
  private boolean passIsDue;

  CommandExecutor(
      ServerState server,
      EventExecutor loop,
      Executor longCommands,
      ByteBufAllocator allocator,
      String name) {
    this.server = server;
    this.loop = loop;
    this.longCommands = longCommands;
    this.allocator = allocator;
    this.wholeCommands = new WholeCommands(server.commands(), server.options().limits());
    ReadPace pace = new ReadPace();
    this.onLoop = new CommandRound(server, this, pace, /* mayWait= */ false);
    this.onThread = new CommandRound(server, this, pace, /* mayWait= */ true);
    this.thread = new Thread(this::run, name);
    thread.setDaemon(true);
    thread.start();
  }

  Replies newReplies() {
    return new Replies(allocator, server.options().limits().replyBytes());
  }

  /** Shared by the decoders of the loop. */
  WholeCommands wholeCommands() {
    return wholeCommands;
  }

  /**
   * Takes commands on the event loop, and handles all of them once the loop has read its sockets.
   * Throws nothing.
   */
  void arrive(Turn turn) {
    try {
      arrived.add(turn);
    } catch (RuntimeException | Error e) {
      drop(turn);
    }
    if (passIsDue) {
      return;
    }
    passIsDue = true;
    try {
      if (onLoop.isOver()) {
        // Scheduled, so that it runs after the pending socket reads; a plain task would run first.
        loop.schedule(passing, 0, TimeUnit.NANOSECONDS);
      } else {
        loop.execute(passing);
      }
    } catch (RuntimeException | Error e) {
      // The loop has ended, or there is no memory for the task.
      pass();
    }
  }

  private void pass() {
    List<Turn> leaving = List.of();
    List<RoundReplies> deliveries = List.of();
    long sinceNanos = onLoop.begin();
    int reached = 0;
    try {
      // Each turn adds at most one entry, so the list never grows.
      leaving = new ArrayList<>(arrived.size());
      while (reached < arrived.size()) {
        Turn turn = arrived.get(reached++);
        if (turn.session().inLane) {
          turn.session().turnsInLane++;
          leaving.add(turn);
        } else {
          serve(onLoop, turn, sinceNanos);
        }
      }
      deliveries = onLoop.end();
    } catch (RuntimeException | Error e) {
      onLoop.giveUp();
      while (reached < arrived.size()) {
        drop(arrived.get(reached++));
      }
    } finally {
      arrived.clear();
      passIsDue = false;
    }
    leave(leaving, deliveries, sinceNanos);
    deliveries.forEach(CommandExecutor::deliver);
  }

  /** Hands turns to the thread, and connections whose next command is not for the loop. */
  private void leave(List<Turn> leaving, List<RoundReplies> deliveries, long sinceNanos) {
    for (int i = 0; i < deliveries.size(); i++) {
      Session session = deliveries.get(i).session();
      if (session.leaves) {
        session.leaves = false;
        session.inLane = true;
        session.turnsInLane++;
        leaving.add(session.nothingNew);
      }
    }
    if (leaving.isEmpty()) {
      return;
    }
    try {
      submit(new Batch(leaving, sinceNanos));
    } catch (RuntimeException | Error e) {
      for (int i = 0; i < leaving.size(); i++) {
        drop(leaving.get(i));
      }
    }
  }

  /** Fails the connection of a turn that cannot be passed on for lack of memory. Throws nothing. */
  private void drop(Turn turn) {
    release(turn.requests());
    turn.session().fail();
  }

  private void release(List<Request> requests) {
    for (int i = 0; i < requests.size(); i++) {
      server.budget().release(requests.get(i).reservedBytes);
    }
  }

  private static void deliver(RoundReplies delivery) {
    try {
      delivery.session().outlet.deliver(delivery);
    } catch (RuntimeException | Error e) {
      // For example no memory to decode the next command. Other connections get their replies.
      delivery.session().fail();
    }
  }

  private void submit(Batch batch) {
    queue.add(batch);
    if (asleep) {
      LockSupport.unpark(thread);
    }
  }

  /** Ends the thread after it has finished its queue. */
  void stop() {
    stopping = true;
    LockSupport.unpark(thread);
  }

  boolean awaitStop(long millis) throws InterruptedException {
    thread.join(Math.max(1, millis));
    return !thread.isAlive();
  }

  private void run() {
    while (true) {
      Batch batch = queue.poll();
      if (batch == null) {
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
        round(batch);
      } catch (RuntimeException | Error e) {
        onThread.giveUp();
      }
    }
  }

  private void round(Batch first) {
    // In a cluster, all commands of a round must have arrived before it.
    int left = server.node() == null ? Integer.MAX_VALUE : queue.size();
    int served = 0;
    onThread.begin();
    for (Batch batch = first;
        batch != null;
        batch = served < ROUND_MAX && left-- > 0 ? queue.poll() : null) {
      for (int i = 0; i < batch.turns.size(); i++) {
        serve(onThread, batch.turns.get(i), batch.sinceNanos);
      }
      served += batch.turns.size();
    }
    handOver(onThread.end());
  }

  private void serve(CommandRound round, Turn turn, long sinceNanos) {
    Session session = turn.session();
    try {
      if (turn.longReplies() != null) {
        session.parked = false;
        session.answered.add(CommandMeter.Kind.READ, 1);
        session.replies.append(turn.longReplies());
      } else {
        if (round == onThread) {
          session.turnsTaken++;
        }
        session.inbox.addAll(turn.requests());
      }
    } catch (RuntimeException | Error e) {
      // No memory. With requests missing, later replies would not match their commands.
      session.closing = true;
      // The inbox grows before it takes the first request, so it holds none of them.
      release(turn.requests());
    }
    round.serve(session, sinceNanos);
  }

  private void handOver(List<RoundReplies> deliveries) {
    try {
      loop.execute(() -> deliveries.forEach(CommandExecutor::takeOver));
    } catch (RuntimeException | Error e) {
      // The loop has ended, or there is no memory for the task.
      for (int i = 0; i < deliveries.size(); i++) {
        RoundReplies delivery = deliveries.get(i);
        delivery.session().fail(delivery.replies());
      }
    }
  }

  /** Runs on the event loop, to which the connection may return. */
  private static void takeOver(RoundReplies delivery) {
    Session session = delivery.session();
    session.turnsInLane -= delivery.turns();
    if (session.turnsInLane == 0 && delivery.idle()) {
      session.inLane = false;
    }
    deliver(delivery);
  }

  /** Called on the thread: runs a command on the executor for long commands. */
  void park(Session session, Command command, Request request) {
    session.parked = true;
    session.answered.add(CommandMeter.Kind.READ, -1);
    long sinceNanos = session.sinceNanos;
    Replies out = newReplies();
    out.protocol(session.protocol);
    Runnable work =
        () -> {
          try {
            if (!session.gone) {
              onThread.run(session, command, request, out);
            }
          } catch (RuntimeException | Error e) {
            // No memory even for an error reply, and no other reply may take its place.
            session.closing = true;
          }
          server.budget().release(request.reservedBytes);
          ByteBuf replies = out.take();
          try {
            submit(new Batch(List.of(new Turn(session, List.of(), replies)), sinceNanos));
          } catch (RuntimeException | Error e) {
            // Otherwise the connection would wait for these replies forever.
            session.fail(replies);
          }
        };
    try {
      longCommands.execute(work);
    } catch (RejectedExecutionException e) {
      work.run();
    }
  }
}
