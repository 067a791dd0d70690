package io.kvsep.error;

/**
 * An empty key, a key over 65,535 bytes, a value over 1 GiB or a batch over 1 GiB; or a store that
 * has used up the ids of keyspaces or the sequence numbers there are. Nothing was written.
 */
public final class LimitExceededException extends KvException {
  private static final long serialVersionUID = 1L;

  public LimitExceededException(String message) {
    super(message, null);
  }
}
