package io.kvsep.server.redis;

/** The input violates the protocol, so nothing after it can be parsed. */
final class ProtocolException extends Exception {
  private static final long serialVersionUID = 1L;

  ProtocolException(String message) {
    super(message, null, false, false);
  }
}
