package io.kvsep.error;

/**
 * The device or the file system refused; the cause is kept. On a full disk writes fail until space
 * is freed and then go on by themselves; reads go on all the time. The write that got this error
 * has not happened.
 */
public final class StorageException extends KvException {
  private static final long serialVersionUID = 1L;

  public StorageException(String message, Throwable cause) {
    super(message, cause);
  }
}
