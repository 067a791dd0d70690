package io.kvsep.error;

import org.jspecify.annotations.Nullable;

/** The root of all errors kvsep raises by itself. Unchecked; the subtypes are the whole list. */
public abstract sealed class KvException extends RuntimeException
    permits CorruptionException,
        StorageException,
        StoreFailedException,
        StoreClosedException,
        StoreLockedException,
        ConflictException,
        LimitExceededException,
        ChangesLostException,
        IncompatibleFormatException {
  private static final long serialVersionUID = 1L;

  KvException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
