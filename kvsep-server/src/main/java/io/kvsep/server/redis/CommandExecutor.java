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
 * Runs the commands of all connections of one event loop, in order for each of them: what is over
 * soon on the loop itself, when it has read all sockets, and everything else on a thread that may
 * wait for the store. A connection is with the thread from the first command that is not for the
 * loop until nothing of it waits there; meanwhile all its commands go there.
 *
 * <p>A command that takes long runs elsewhere; only its own connection waits for it.
 *
 * <p>Where memory lacks, connections it lacks for are closed, and others go on. So what passes
 * others on makes no objects that it can do without: lists are gone through by index.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What is scheduled runs, or the loop has ended.
final class CommandExecutor {
  /** Turns in one round of the thread. */
  private static final int ROUND_MAX = 512;

  /**
   * Commands of a connection that arrived together.
   *
   * @param longReplies of a command that ran elsewhere and is done, null for none
   */
  record Turn(Session session, List<Request> requests, @Nullable ByteBuf longReplies) {}

  /** Turns for the thread, and when the loop had them. */
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

  // Of the event loop.
  private final CommandRound onLoop;
  private final Runnable passing = this::pass;
  private final List<Turn> arrived = new ArrayList<>();

  /** Whether what arrives is seen to without asking the loop for it. */
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

  /** For the decoders of the loop. */
  WholeCommands wholeCommands() {
    return wholeCommands;
  }

  /**
   * On the event loop: takes commands, and sees to all of them when the loop has read all sockets.
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
        // Behind what the sockets have brought meanwhile, as a task at once would not be.
        loop.schedule(passing, 0, TimeUnit.NANOSECONDS);
      } else {
        loop.execute(passing);
      }
    } catch (RuntimeException | Error e) {
      // It has ended, or has no memory for the task.
      pass();
    }
  }

  private void pass() {
    List<Turn> leaving = List.of();
    List<RoundReplies> deliveries = List.of();
    long sinceNanos = onLoop.begin();
    int reached = 0;
    try {
      // A turn brings one at most, so that it need not grow.
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

  /** Memory lacks for passing the turn on. Throws nothing. */
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
      // No memory for what is cut out of its bytes next, say: the others get theirs.
      delivery.session().fail();
    }
  }

  private void submit(Batch batch) {
    queue.add(batch);
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
    int served = 0;
    onThread.begin();
    for (Batch batch = first; batch != null; batch = served < ROUND_MAX ? queue.poll() : null) {
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
      // No memory: without what is missing, nothing behind it would be the right answer.
      session.closing = true;
      // The inbox has none of them: it grows before it takes the first.
      release(turn.requests());
    }
    round.serve(session, sinceNanos);
  }

  /** Everything that the thread has answered goes back to the event loop. */
  private void handOver(List<RoundReplies> deliveries) {
    try {
      loop.execute(() -> deliveries.forEach(CommandExecutor::takeOver));
    } catch (RuntimeException | Error e) {
      // It has ended, or has no memory for the task.
      for (int i = 0; i < deliveries.size(); i++) {
        RoundReplies delivery = deliveries.get(i);
        delivery.session().fail(delivery.replies());
      }
    }
  }

  /** On the event loop, to which the connection may come back. */
  private static void takeOver(RoundReplies delivery) {
    Session session = delivery.session();
    session.turnsInLane -= delivery.turns();
    if (session.turnsInLane == 0 && delivery.idle()) {
      session.inLane = false;
    }
    deliver(delivery);
  }

  /** On the thread: has a command run elsewhere. */
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
            // No memory even for an error. Nothing may come in its place.
            session.closing = true;
          }
          server.budget().release(request.reservedBytes);
          ByteBuf replies = out.take();
          try {
            submit(new Batch(List.of(new Turn(session, List.of(), replies)), sinceNanos));
          } catch (RuntimeException | Error e) {
            // It would wait for them for ever.
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
