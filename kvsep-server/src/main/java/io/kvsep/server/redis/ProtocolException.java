package io.kvsep.server.redis;

/** What a client sends is not the protocol; nothing behind it can be understood. */
final class ProtocolException extends Exception {
  private static final long serialVersionUID = 1L;

  ProtocolException(String message) {
    super(message, null, false, false);
  }
}
