package io.kvsep.error;

/**
 * The device or file system failed an operation; the cause is kept. A write that throws this was
 * not applied. On a full disk, writes fail until space is freed and then succeed without reopening;
 * reads are not affected.
 */
public final class StorageException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what happened
   * @param cause the error that caused it
   */
  public StorageException(String message, Throwable cause) {
    super(message, cause);
  }
}
