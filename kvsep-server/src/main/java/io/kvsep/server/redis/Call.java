package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Locale;

/** One command being carried out: its arguments, where it reads and writes, where it answers. */
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

  /** With the name. */
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

  /** An argument that is a word of the command, in upper case. */
  String word(int index) {
    return word(arguments[index]);
  }

  static String word(byte[] argument) {
    return argument.length > 64 ? "" : new String(argument, ISO_8859_1).toUpperCase(Locale.ROOT);
  }

  long integer(int index) {
    return Numbers.integer(arguments[index]);
  }

  /** The argument as a number, or else this error. */
  long integer(int index, String error) {
    try {
      return integer(index);
    } catch (CommandError e) {
      throw new CommandError(error);
    }
  }

  /** The selected database. */
  Entries entries() {
    return entries(session.database);
  }

  /** For reading: one that there is not is not made for a connection that only reads. */
  Entries entries(int database) {
    Databases databases = server.databases();
    return session.onlyReads && !databases.exists(database)
        ? databases.nothing()
        : spaces.at(database);
  }

  long nowMillis() {
    return server.options().clock().millis();
  }

  /** Whether an expiry has passed. */
  boolean hasPassed(long expiresAtMillis) {
    return expiresAtMillis != Entries.NEVER && expiresAtMillis <= nowMillis();
  }

  /** Refuses a value that a command would make: no longer one than could have been sent. */
  void checkValueLength(long length) {
    RedisLimits limits = server.options().limits();
    if (length > Math.min(limits.commandBytes(), limits.requestBytes())) {
      throw new CommandError("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    }
  }
}
