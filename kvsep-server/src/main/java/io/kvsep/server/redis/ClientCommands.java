package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.server.redis.Command.Kind;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** CLIENT: lists connections, describes them and closes them. */
final class ClientCommands {
  private static final Map<String, Integer> ARITIES =
      Map.of(
          "GETNAME",
          2,
          "HELP",
          2,
          "ID",
          2,
          "INFO",
          2,
          "KILL",
          -3,
          "LIST",
          -2,
          "NO-EVICT",
          3,
          "NO-TOUCH",
          3,
          "SETINFO",
          4,
          "SETNAME",
          3);

  private ClientCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("client", -2, Kind.SESSION, ClientCommands::client, "About connections")
            .subcommands(ARITIES));
  }

  private static void client(Call call) {
    Session session = call.session;
    switch (call.word(1)) {
      case "ID" -> call.out.integer(session.id);
      case "GETNAME" ->
          call.out.bulkOrNull(session.name.isEmpty() ? null : session.name.getBytes(UTF_8));
      case "SETNAME" -> {
        session.name = SessionCommands.checked(call.text(2), "Client names");
        call.out.ok();
      }
      case "SETINFO" -> setInfo(call);
      case "INFO" -> call.out.verbatim(session.describe(call.nowMillis()) + "\n");
      case "LIST" -> list(call);
      case "KILL" -> kill(call);
      case "NO-EVICT", "NO-TOUCH" -> {
        // Nothing is ever evicted, so both options already hold.
        isYes(call.word(2), "ON", "OFF");
        call.out.ok();
      }
      case "HELP" -> help(call);
      default -> throw CommandError.unknownSubcommand(call.name, call.bytes(1));
    }
  }

  private static void help(Call call) {
    ServerCommands.help(
        call,
        "GETNAME",
        "Gives the name of the connection.",
        "ID",
        "Gives the number of the connection.",
        "INFO",
        "Describes the connection.",
        "KILL <ip:port>",
        "Closes the connection from an address.",
        "KILL <option> <value> [<option> <value> ...]",
        "Closes connections: ID, TYPE, USER, ADDR, LADDR, MAXAGE, SKIPME (YES|NO).",
        "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB) | ID <id> [<id> ...]]",
        "Describes connections, all by default.",
        "NO-EVICT (ON|OFF)",
        "Does nothing: no connection is ever evicted.",
        "NO-TOUCH (ON|OFF)",
        "Does nothing: it is not known when keys were used.",
        "SETINFO (LIB-NAME|LIB-VER) <value>",
        "Sets what the client library says of itself.",
        "SETNAME <name>",
        "Sets the name of the connection.");
  }

  private static void setInfo(Call call) {
    String option = call.word(2);
    if (!option.equals("LIB-NAME") && !option.equals("LIB-VER")) {
      throw new CommandError("ERR Unrecognized option '" + call.text(2) + "'");
    }
    String value = SessionCommands.checked(call.text(3), call.text(2));
    if (option.equals("LIB-NAME")) {
      call.session.libraryName = value;
    } else {
      call.session.libraryVersion = value;
    }
    call.out.ok();
  }

  private static void list(Call call) {
    Predicate<Session> listed = session -> true;
    if (call.count() > 2) {
      String option = call.word(2);
      if (option.equals("TYPE") && call.count() == 4) {
        listed = ofType(call, 3);
      } else if (option.equals("ID") && call.count() > 3) {
        Set<Long> ids = new HashSet<>();
        for (int i = 3; i < call.count(); i++) {
          ids.add(call.integer(i, "ERR Invalid client ID"));
        }
        listed = session -> ids.contains(session.id);
      } else {
        throw CommandError.syntax();
      }
    }
    StringBuilder lines = new StringBuilder();
    for (Session session : call.server.sessions()) {
      if (listed.test(session)) {
        lines.append(session.describe(call.nowMillis())).append('\n');
      }
    }
    call.out.verbatim(lines.toString());
  }

  private static Predicate<Session> ofType(Call call, int index) {
    boolean normal =
        switch (call.word(index)) {
          case "NORMAL" -> true;
          case "MASTER", "REPLICA", "SLAVE", "PUBSUB" -> false;
          default -> throw new CommandError("ERR Unknown client type '" + call.text(index) + "'");
        };
    return session -> normal;
  }

  private static void kill(Call call) {
    if (call.session.onlyReads) {
      throw new CommandError("NOPERM this token only reads, and may not close other connections");
    }
    if (call.count() == 3) {
      if (kill(call, session -> session.address().equals(call.text(2))) == 0) {
        throw new CommandError("ERR No such client");
      }
      call.out.ok();
      return;
    }
    if (call.count() % 2 != 0) {
      throw CommandError.syntax();
    }
    Predicate<Session> killed = session -> true;
    boolean skipsSelf = true;
    for (int i = 2; i < call.count(); i += 2) {
      if (call.word(i).equals("SKIPME")) {
        skipsSelf = isYes(call.word(i + 1), "YES", "NO");
      } else {
        killed = killed.and(option(call, i));
      }
    }
    boolean spared = skipsSelf;
    call.out.integer(kill(call, killed.and(session -> !spared || session.id != call.session.id)));
  }

  private static boolean isYes(String word, String yes, String no) {
    if (!word.equals(yes) && !word.equals(no)) {
      throw CommandError.syntax();
    }
    return word.equals(yes);
  }

  private static Predicate<Session> option(Call call, int index) {
    String value = call.text(index + 1);
    return switch (call.word(index)) {
      case "ID" -> {
        long id = positive(call, index + 1, "client-id");
        yield session -> session.id == id;
      }
      case "MAXAGE" -> {
        long seconds = positive(call, index + 1, "maxage");
        yield session -> session.ageSeconds(call.nowMillis()) >= seconds;
      }
      case "TYPE" -> ofType(call, index + 1);
      case "ADDR" -> session -> session.address().equals(value);
      case "LADDR" -> session -> session.localAddress().equals(value);
      case "USER" -> {
        if (!value.equals(SessionCommands.DEFAULT_USER)) {
          throw new CommandError("ERR No such user '" + value + "'");
        }
        yield session -> true;
      }
      default -> throw CommandError.syntax();
    };
  }

  private static long positive(Call call, int index, String what) {
    String error = "ERR " + what + " should be greater than 0";
    long value = call.integer(index, error);
    if (value <= 0) {
      throw new CommandError(error);
    }
    return value;
  }

  /**
   * Closes connections and returns their number. The caller's own connection gets its replies
   * first.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // No caller waits for the close.
  private static int kill(Call call, Predicate<Session> killed) {
    int count = 0;
    for (Session session : call.server.sessions()) {
      if (killed.test(session)) {
        session.closing = true;
        call.server.remove(session);
        if (session.id != call.session.id) {
          session.channel.close();
        }
        count++;
      }
    }
    return count;
  }
}
