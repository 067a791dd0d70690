package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Locale;

/** A command was refused and wrote nothing. The message is the reply, beginning with its code. */
final class CommandError extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CommandError(String reply) {
    super(reply, null, false, false);
  }

  static CommandError syntax() {
    return new CommandError("ERR syntax error");
  }

  static CommandError notAnInteger() {
    return new CommandError("ERR value is not an integer or out of range");
  }

  static CommandError wrongArity(String command) {
    return new CommandError("ERR wrong number of arguments for '" + command + "' command");
  }

  static CommandError unknownSubcommand(String command, byte[] word) {
    String shown = new String(word, UTF_8);
    shown = shown.substring(0, Math.min(128, shown.length()));
    return new CommandError(
        "ERR unknown subcommand '"
            + shown
            + "'. Try "
            + command.toUpperCase(Locale.ROOT)
            + " HELP.");
  }

  String reply() {
    return String.valueOf(getMessage());
  }
}
