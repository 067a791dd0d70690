package io.kvsep.server.cli;

import org.jspecify.annotations.Nullable;

/** A command failed; the message is the line shown to the user. */
final class CommandFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final boolean misuse;

  private CommandFailure(String message, @Nullable Throwable cause, boolean misuse) {
    super(message, cause);
    this.misuse = misuse;
  }

  static CommandFailure failed(String message) {
    return new CommandFailure(message, null, false);
  }

  static CommandFailure failed(String message, Throwable cause) {
    return new CommandFailure(message, cause, false);
  }

  /** The arguments are inconsistent; nothing was done. */
  static CommandFailure misused(String message) {
    return new CommandFailure(message, null, true);
  }

  boolean misuse() {
    return misuse;
  }
}
