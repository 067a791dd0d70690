package io.kvsep.server.redis;

import io.kvsep.error.ConflictException;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import java.util.Objects;

/** Error replies for failures of the store: one line, no stack trace. */
final class StoreErrors {
  private StoreErrors() {}

  static String reply(Throwable failure) {
    if (failure instanceof CommandError error) {
      return error.reply();
    }
    if (failure instanceof ReadOnlyStoreException) {
      return "READONLY the store is open for reading only";
    }
    if (failure instanceof KvException known) {
      return "ERR " + reason(known);
    }
    if (failure instanceof IllegalStateException) {
      return "ERR " + text(failure);
    }
    if (failure instanceof CommandLimitException) {
      return "ERR " + text(failure);
    }
    if (failure instanceof UnsupportedOperationException) {
      return "ERR not supported: " + text(failure);
    }
    if (failure instanceof OutOfMemoryError) {
      return "ERR the server has not enough memory for this command";
    }
    return "ERR unexpected " + failure.getClass().getSimpleName() + ": " + text(failure);
  }

  private static String reason(KvException failure) {
    if (failure instanceof StorageException) {
      return "the device refused, nothing was written: " + withCause(failure);
    }
    if (failure instanceof StoreFailedException) {
      return "the store has failed and takes no more writes until it is opened again: "
          + withCause(failure);
    }
    if (failure instanceof CorruptionException) {
      return "damaged data: " + text(failure);
    }
    if (failure instanceof StoreClosedException) {
      return "the store is closed";
    }
    if (failure instanceof ConflictException) {
      return "others changed the same keys all the time";
    }
    if (failure instanceof LimitExceededException
        || failure instanceof IncompatibleFormatException) {
      return text(failure);
    }
    return text(failure);
  }

  private static String withCause(Throwable failure) {
    Throwable cause = failure.getCause();
    if (cause == null || text(failure).contains(text(cause))) {
      return text(failure);
    }
    return text(failure) + ": " + text(cause);
  }

  private static String text(Throwable failure) {
    return Objects.requireNonNullElse(failure.getMessage(), failure.getClass().getSimpleName());
  }
}
