package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.server.redis.Command.Kind;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;

/** Commands about the connection: authentication, protocol, database. */
final class SessionCommands {
  static final String DEFAULT_USER = "default";
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
        Command.of("reset", 1, Kind.CONTROL, SessionCommands::reset, "Begins the connection anew"));
  }

  static boolean mayComeFirst(Command command) {
    return command.kind() == Kind.GREETING
        || command.name().equals("quit")
        || command.name().equals("reset");
  }

  /**
   * Whether the connection's token permits a command. EXEC runs only commands that passed this
   * check.
   */
  static boolean isPermitted(Session session, Command command) {
    return !session.onlyReads
        || command.kind() != Kind.WRITE
        || command.name().equals(TransactionCommands.EXEC);
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
    session.readsStale = false;
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
    String reading = call.server.options().readToken();
    boolean mayWrite = expected == null || isSame(expected.getBytes(UTF_8), token);
    boolean mayRead = reading != null && isSame(reading.getBytes(UTF_8), token);
    if (!(mayWrite || mayRead) || !DEFAULT_USER.equals(new String(user, UTF_8))) {
      throw new CommandError("WRONGPASS invalid username-password pair or user is disabled.");
    }
    call.session.onlyReads = !mayWrite;
    call.session.trusted = true;
  }

  /** Takes the same time for any two tokens, whatever their lengths and first difference. */
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
    out.pair("mode", call.server.isClustered() ? "cluster" : "standalone");
    out.pair("role", "master");
    out.bulk("modules");
    out.array(0);
  }

  static String checked(String text, String what) {
    if (text.length() > NAME_LENGTH_MAX || !text.chars().allMatch(c -> c > ' ' && c <= '~')) {
      throw new CommandError(
          "ERR " + what + " cannot contain spaces, newlines or special characters.");
    }
    return text;
  }
}
