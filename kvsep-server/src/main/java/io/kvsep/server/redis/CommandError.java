package io.kvsep.server.redis;

/** A command is refused; the message is the reply, with its code in front. Nothing was written. */
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

  String reply() {
    return String.valueOf(getMessage());
  }
}
