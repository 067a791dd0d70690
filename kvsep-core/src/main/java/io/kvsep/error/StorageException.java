package io.kvsep.error;

import java.io.IOException;
import java.nio.file.FileSystemException;

/**
 * The device or file system failed an operation; the cause is kept. A write that throws this was
 * not applied. On a full disk, writes fail until space is freed and then succeed without reopening;
 * reads are not affected.
 */
public final class StorageException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception. The reason that the device gave is added to the message.
   *
   * @param message what happened
   * @param cause the error that caused it
   */
  public StorageException(String message, Throwable cause) {
    super(withReason(message, cause), cause);
  }

  private static String withReason(String message, Throwable cause) {
    boolean nameOnly = cause instanceof FileSystemException file && file.getReason() == null;
    boolean ofDevice = cause instanceof IOException || cause instanceof StorageException;
    String reason = ofDevice && !nameOnly ? cause.getMessage() : null;
    return reason == null || message.contains(reason) ? message : message + ": " + reason;
  }
}
