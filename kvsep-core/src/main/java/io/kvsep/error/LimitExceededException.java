package io.kvsep.error;

/**
 * An empty key, a key over 65,535 bytes, a value or batch over 1 GiB, or a store without free
 * keyspace ids or sequence numbers. Nothing was written.
 */
public final class LimitExceededException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what happened
   */
  public LimitExceededException(String message) {
    super(message, null);
  }
}
