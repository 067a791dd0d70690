package io.kvsep.server.redis;

/**
 * A command would make more than it may: a longer reply, a larger transaction, or more on the heap.
 * Whatever it was about to write is undone.
 */
final class CommandLimitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CommandLimitException(String message) {
    super(message, null, false, false);
  }
}
