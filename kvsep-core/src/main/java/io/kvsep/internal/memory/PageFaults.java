package io.kvsep.internal.memory;

import io.kvsep.error.StorageException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Converts page faults of mapped files to exceptions. The JVM throws an {@link InternalError},
 * often only after the method that read the page, so it is caught at the API boundary. Where that
 * is too late, {@link Region#requirePagesRead} forces it. Other instances, for example from user
 * code, propagate unchanged.
 */
public final class PageFaults {
  private PageFaults() {}

  /**
   * As {@link Region#requirePagesRead}.
   *
   * @throws StorageException if a fault is pending
   */
  public static void requireNone() {
    try {
      Region.requirePagesRead();
    } catch (InternalError e) {
      throw error(e);
    }
  }

  /** Converts page faults. Not for hot paths: the lambda may allocate. */
  public static <T extends @Nullable Object> T guard(Supplier<T> work) {
    try {
      return work.get();
    } catch (InternalError e) {
      throw error(e);
    }
  }

  public static void guard(Runnable work) {
    try {
      work.run();
    } catch (InternalError e) {
      throw error(e);
    }
  }

  /**
   * The error of a read that met a page fault.
   *
   * @throws InternalError {@code cause}, if it is not a page fault
   */
  public static StorageException error(InternalError cause) {
    return error("cannot read a page of a mapped file", cause);
  }

  /** Throws an {@link Error} that is no page fault: a job must not go on after one. */
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
