package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.server.redis.Command.Kind;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Map;

/** The connection itself: who is there, and how it wants to be spoken to. */
final class SessionCommands {
  private static final String DEFAULT_USER = "default";
  private static final int NAME_LENGTH_MAX = 1024;

  private SessionCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("ping", -1, Kind.SESSION, SessionCommands::ping, "Answers").asQuick(),
        Command.of("echo", 2, Kind.SESSION, call -> call.out.bulk(call.bytes(1)), "Repeats")
            .asQuick(),
        Command.of("select", 2, Kind.SESSION, SessionCommands::select, "Selects a database")
            .asQuick(),
        Command.of("auth", -2, Kind.GREETING, SessionCommands::auth, "Gives the token"),
        Command.of("hello", -1, Kind.GREETING, SessionCommands::hello, "Chooses the protocol"),
        Command.of("quit", -1, Kind.CONTROL, SessionCommands::quit, "Closes the connection"),
        Command.of("reset", 1, Kind.CONTROL, SessionCommands::reset, "Begins the connection anew"),
        Command.of("client", -2, Kind.SESSION, SessionCommands::client, "About connections")
            .subcommands(
                Map.of(
                    "GETNAME",
                    2,
                    "HELP",
                    2,
                    "ID",
                    2,
                    "INFO",
                    2,
                    "LIST",
                    2,
                    "NO-EVICT",
                    3,
                    "NO-TOUCH",
                    3,
                    "SETINFO",
                    4,
                    "SETNAME",
                    3)));
  }

  /** Whether a command may come before the token. */
  static boolean mayComeFirst(Command command) {
    return command.kind() == Kind.GREETING
        || command.name().equals("quit")
        || command.name().equals("reset");
  }

  private static void ping(Call call) {
    if (call.count() > 2) {
      throw CommandError.wrongArity(call.name);
    }
    if (call.count() == 2) {
      call.out.bulk(call.bytes(1));
    } else {
      call.out.simple("PONG");
    }
  }

  private static void select(Call call) {
    int database = KeyCommands.database(call.integer(1));
    call.out.ok();
    call.session.database = database;
  }

  private static void quit(Call call) {
    call.out.ok();
    call.session.closing = true;
  }

  private static void reset(Call call) {
    Session session = call.session;
    session.discard(call.server.budget());
    session.database = 0;
    session.name = "";
    session.protocol = 2;
    if (session.trusted && call.server.options().token() != null) {
      session.estranged = true;
      session.trusted = false;
    }
    session.replies.protocol(2);
    call.out.simple("RESET");
  }

  private static void auth(Call call) {
    if (call.count() > 3) {
      throw CommandError.syntax();
    }
    boolean named = call.count() == 3;
    if (!named && call.server.options().token() == null) {
      throw new CommandError(
          "ERR AUTH <password> called without any password configured for the default user."
              + " Are you sure your configuration is correct?");
    }
    authenticate(
        call, named ? call.bytes(1) : DEFAULT_USER.getBytes(UTF_8), call.bytes(named ? 2 : 1));
    call.out.ok();
  }

  private static void authenticate(Call call, byte[] user, byte[] token) {
    String expected = call.server.options().token();
    boolean right = expected == null || isSame(expected.getBytes(UTF_8), token);
    if (!right || !DEFAULT_USER.equals(new String(user, UTF_8))) {
      throw new CommandError("WRONGPASS invalid username-password pair or user is disabled.");
    }
    call.session.trusted = true;
  }

  /** Takes the same time wherever they differ, and whatever their lengths. */
  private static boolean isSame(byte[] expected, byte[] given) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return MessageDigest.isEqual(digest.digest(expected), digest.digest(given));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  private static void hello(Call call) {
    Session session = call.session;
    long version = session.protocol;
    int at = 1;
    if (call.count() > 1) {
      try {
        version = call.integer(at++);
      } catch (CommandError e) {
        throw new CommandError("ERR Protocol version is not an integer or out of range");
      }
      if (version != 2 && version != 3) {
        throw new CommandError("NOPROTO unsupported protocol version");
      }
    }
    String name = null;
    int auth = 0;
    while (at < call.count()) {
      String word = call.word(at);
      if (word.equals("AUTH") && call.count() - at > 2) {
        auth = at;
        at += 3;
      } else if (word.equals("SETNAME") && call.count() - at > 1) {
        name = checked(call.text(at + 1), "Client names");
        at += 2;
      } else {
        throw new CommandError("ERR Syntax error in HELLO option '" + call.text(at) + "'");
      }
    }
    if (auth > 0) {
      authenticate(call, call.bytes(auth + 1), call.bytes(auth + 2));
    }
    if (!session.trusted) {
      throw new CommandError(
          "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO"
              + " <proto> AUTH <user> <pass> option can be used to authenticate the client and"
              + " select the RESP protocol version at the same time");
    }
    session.name = name == null ? session.name : name;
    session.protocol = (int) version;
    call.out.protocol(session.protocol);
    greet(call);
  }

  private static void greet(Call call) {
    Replies out = call.out;
    out.map(7);
    out.pair("server", "redis");
    out.pair("version", ServerCommands.REDIS_VERSION);
    out.bulk("proto");
    out.integer(call.session.protocol);
    out.bulk("id");
    out.integer(call.session.id);
    out.pair("mode", "standalone");
    out.pair("role", "master");
    out.bulk("modules");
    out.array(0);
  }

  private static String checked(String text, String what) {
    if (text.length() > NAME_LENGTH_MAX || !text.chars().allMatch(c -> c > ' ' && c <= '~')) {
      throw new CommandError(
          "ERR " + what + " cannot contain spaces, newlines or special characters.");
    }
    return text;
  }

  private static void client(Call call) {
    Session session = call.session;
    String word = call.word(1);
    switch (word) {
      case "ID" -> call.out.integer(session.id);
      case "GETNAME" ->
          call.out.bulkOrNull(session.name.isEmpty() ? null : session.name.getBytes(UTF_8));
      case "SETNAME" -> {
        session.name = checked(call.text(2), "Client names");
        call.out.ok();
      }
      case "SETINFO" -> setInfo(call);
      case "INFO" -> call.out.verbatim(session.describe(call.nowMillis()) + "\n");
      case "LIST" -> list(call);
      case "NO-EVICT", "NO-TOUCH" -> {
        // Nothing is ever evicted, so both are as asked for.
        if (!call.word(2).equals("ON") && !call.word(2).equals("OFF")) {
          throw CommandError.syntax();
        }
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
        "LIST",
        "Describes all connections.",
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
    String value = checked(call.text(3), call.text(2));
    if (option.equals("LIB-NAME")) {
      call.session.libraryName = value;
    } else {
      call.session.libraryVersion = value;
    }
    call.out.ok();
  }

  private static void list(Call call) {
    StringBuilder lines = new StringBuilder();
    for (Session session : call.server.sessions()) {
      lines.append(session.describe(call.nowMillis())).append('\n');
    }
    call.out.verbatim(lines.toString());
  }
}
