package io.kvsep.server.redis;

/**
 * A command would exceed a limit: of its reply, its transaction or its heap memory. None of its
 * writes take effect.
 */
final class CommandLimitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CommandLimitException(String message) {
    super(message, null, false, false);
  }
}
