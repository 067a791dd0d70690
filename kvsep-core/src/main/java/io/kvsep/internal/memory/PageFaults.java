package io.kvsep.internal.memory;

import io.kvsep.error.StorageException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Converts page faults of mapped files to exceptions. The JVM throws an {@link InternalError},
 * often only when the method that read the page has returned, so it is caught at the API boundary
 * and not at the read. Where that is too late, {@link Region#requirePagesRead} forces it. Other
 * instances of {@link InternalError}, for example from user code, propagate unchanged.
 */
public final class PageFaults {
  private PageFaults() {}

  /**
   * Checks for a pending fault, as {@link Region#requirePagesRead}.
   *
   * @throws StorageException if there is one
   */
  public static void requireNone() {
    try {
      Region.requirePagesRead();
    } catch (InternalError e) {
      throw error(e);
    }
  }

  /** Runs {@code work} and converts its page faults. Not for hot paths: the lambda may allocate. */
  public static <T extends @Nullable Object> T guard(Supplier<T> work) {
    try {
      return work.get();
    } catch (InternalError e) {
      throw error(e);
    }
  }

  /** As {@link #guard(Supplier)}, without a result. */
  public static void guard(Runnable work) {
    try {
      work.run();
    } catch (InternalError e) {
      throw error(e);
    }
  }

  /**
   * The exception to throw for an error.
   *
   * @throws InternalError the error itself, if it is not a page fault
   */
  public static StorageException error(InternalError cause) {
    return error("cannot read a page of a mapped file", cause);
  }

  /** Throws an {@link Error} that is no page fault. A job must not go on after one. */
  public static void throwOther(Throwable cause) {
    if (cause instanceof Error error && !PageFault.is(error)) {
      throw error;
    }
  }

  /** As {@link #error(InternalError)}; also for other I/O failures. */
  public static StorageException error(String message, Throwable cause) {
    if (cause instanceof InternalError error && !PageFault.is(error)) {
      throw error;
    }
    return new StorageException(message, cause);
  }
}
