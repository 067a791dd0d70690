package io.kvsep.server.redis;

/**
 * A reply would be longer than replies may be. Whatever the command was about to write is undone.
 */
final class ReplyLimitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ReplyLimitException(int bytesMax) {
    super("the reply would have more than " + bytesMax + " bytes", null, false, false);
  }
}
