package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.server.redis.Command.Kind;
import io.kvsep.server.redis.Session.Watched;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * MULTI and related commands. A watched key is remembered by its version. EXEC is one command that
 * compares the versions and then runs the queue in a transaction of the store, which is repeated
 * after a conflict. So a key that changes between the comparison and the commit is detected, too.
 */
final class TransactionCommands {
  static final String EXEC = "exec";
  private static final int ABSENT = -1;

  private TransactionCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("multi", 1, Kind.CONTROL, TransactionCommands::multi, "Begins a transaction"),
        Command.of(EXEC, 1, Kind.WRITE, TransactionCommands::exec, "Carries a transaction out"),
        Command.of("discard", 1, Kind.CONTROL, TransactionCommands::discard, "Drops a transaction"),
        Command.of(
                "watch", -2, Kind.CONTROL, TransactionCommands::watch, "Lets EXEC depend on keys")
            .keys(1, -1, 1),
        Command.of(
            "unwatch", 1, Kind.SESSION, TransactionCommands::unwatch, "Forgets watched keys"));
  }

  /**
   * Returns the reason to refuse a command after MULTI, null if it is allowed. A command that reads
   * all keys would delay all clients, and be repeated whenever any of the keys is written
   * meanwhile.
   */
  static @Nullable String refusal(Command command) {
    return switch (command.kind()) {
      case GREETING -> "ERR Command not allowed inside a transaction";
      case LONG_READ ->
          "ERR Command not allowed inside a transaction: '"
              + command.name()
              + "' takes too long, send it outside of MULTI";
      default -> null;
    };
  }

  /** Returns the reply of EXEC if EXEC itself is refused. */
  static String abort(String refusal) {
    return "EXECABORT Transaction discarded because of: "
        + (refusal.startsWith("ERR ") ? refusal.substring(4) : refusal);
  }

  private static void multi(Call call) {
    if (call.session.queue != null) {
      throw new CommandError("ERR MULTI calls can not be nested");
    }
    call.session.queue = new ArrayList<>();
    call.session.queued = 0;
    call.session.queueBroken = false;
    call.out.ok();
  }

  private static void discard(Call call) {
    if (call.session.queue == null) {
      throw new CommandError("ERR DISCARD without MULTI");
    }
    call.session.discard(call.server.budget());
    call.out.ok();
  }

  private static void watch(Call call) {
    Session session = call.session;
    if (session.queue != null) {
      throw new CommandError("ERR WATCH inside MULTI is not allowed");
    }
    long bytes = 0;
    for (int i = 1; i < call.count(); i++) {
      bytes += call.bytes(i).length + 100L;
    }
    if (bytes > RequestBudget.FREE_BYTES * 16 - session.watchedBytes) {
      throw new CommandError("ERR too many watched keys");
    }
    Entries entries = call.entries();
    List<Watched> watched = new ArrayList<>();
    for (int i = 1; i < call.count(); i++) {
      long version = version(entries.info(call.bytes(i)));
      watched.add(new Watched(session.database, call.bytes(i), version));
    }
    if (!session.reserveWatched(bytes, call.server.budget())) {
      throw new CommandError("ERR no memory for these keys beside commands under way");
    }
    call.out.ok();
    session.watched.addAll(watched);
    session.watchedKeys = session.watched.size();
  }

  /**
   * Does nothing in a transaction: EXEC has already compared the keys, and may have to do so again.
   */
  private static void unwatch(Call call) {
    if (call.session.queue == null) {
      call.session.unwatch(call.server.budget());
    }
    call.out.ok();
  }

  private static void exec(Call call) {
    Session session = call.session;
    List<Request> queue = session.queue;
    if (queue == null) {
      throw new CommandError("ERR EXEC without MULTI");
    }
    if (session.queueBroken) {
      throw new CommandError("EXECABORT Transaction discarded because of previous errors.");
    }
    for (Watched key : session.watched) {
      if (version(call.entries(key.database()).info(key.key())) != key.version()) {
        call.out.noArray();
        return;
      }
    }
    call.out.array(queue.size());
    for (Request request : queue) {
      if (session.gone) {
        // No client waits for the long rest, and nothing is committed yet.
        throw new CommandLimitException("the client has gone");
      }
      runQueued(call, request);
    }
  }

  private static void runQueued(Call call, Request request) {
    Command command = Objects.requireNonNull(request.command);
    int mark = call.out.length();
    try {
      command
          .body()
          .run(
              new Call(
                  call.server,
                  call.session,
                  call.spaces,
                  call.out,
                  command.name(),
                  request.arguments));
    } catch (CommandError e) {
      call.out.cutBackTo(mark);
      call.out.error(e.reply());
    }
  }

  private static long version(@Nullable EntryInfo info) {
    return info == null ? ABSENT : info.version();
  }
}
