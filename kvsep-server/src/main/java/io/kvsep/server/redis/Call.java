package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Locale;

/** One command being executed: its arguments, the data it reads and writes, and its replies. */
final class Call {
  final ServerState server;
  final Session session;
  final Entries.Spaces spaces;
  final Replies out;
  final String name;
  private final byte[][] arguments;

  Call(
      ServerState server,
      Session session,
      Entries.Spaces spaces,
      Replies out,
      String name,
      byte[][] arguments) {
    this.server = server;
    this.session = session;
    this.spaces = spaces;
    this.out = out;
    this.name = name;
    this.arguments = arguments;
  }

  /** Number of arguments, including the name. */
  int count() {
    return arguments.length;
  }

  byte[] bytes(int index) {
    return arguments[index];
  }

  byte[][] all() {
    return arguments;
  }

  String text(int index) {
    return new String(arguments[index], UTF_8);
  }

  /** Returns an argument that is a keyword, in upper case. */
  String word(int index) {
    return word(arguments[index]);
  }

  static String word(byte[] argument) {
    return argument.length > 64 ? "" : new String(argument, ISO_8859_1).toUpperCase(Locale.ROOT);
  }

  long integer(int index) {
    return Numbers.integer(arguments[index]);
  }

  /** Returns the argument as a number, or throws the given error. */
  long integer(int index, String error) {
    try {
      return integer(index);
    } catch (CommandError e) {
      throw new CommandError(error);
    }
  }

  Entries entries() {
    return entries(session.database);
  }

  /** Returns a database. A read-only connection does not create one that is missing. */
  Entries entries(int database) {
    Databases databases = server.databases();
    return session.onlyReads && !databases.exists(database)
        ? databases.nothing()
        : spaces.at(database);
  }

  long nowMillis() {
    return server.options().clock().millis();
  }

  boolean hasPassed(long expiresAtMillis) {
    return expiresAtMillis != Entries.NEVER && expiresAtMillis <= nowMillis();
  }

  /** Refuses a value that is longer than a client could have sent. */
  void checkValueLength(long length) {
    RedisLimits limits = server.options().limits();
    if (length > Math.min(limits.commandBytes(), limits.requestBytes())) {
      throw new CommandError("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    }
  }
}
