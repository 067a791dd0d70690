package io.kvsep.error;

import org.jspecify.annotations.Nullable;

/** Superclass of kvsep's errors. Unchecked; the permitted subtypes are the complete list. */
public abstract sealed class KvException extends RuntimeException
    permits CorruptionException,
        StorageException,
        StoreFailedException,
        StoreClosedException,
        StoreLockedException,
        ConflictException,
        LimitExceededException,
        ReadOnlyStoreException,
        StoreNotFoundException,
        ChangesLostException,
        IncompatibleFormatException {
  private static final long serialVersionUID = 1L;

  KvException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
