package io.kvsep.collections;

/**
 * Bytes are not an encoding of the codec that was to decode them: the keyspace was written with
 * another codec, or holds other data. Nothing was changed; other entries stay readable.
 */
public final class DecodeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what was expected and what was found
   */
  public DecodeException(String message) {
    super(message);
  }
}
