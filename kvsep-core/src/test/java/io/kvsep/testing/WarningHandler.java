package io.kvsep.testing;

import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Is shown what stores tell the log of the JVM, as a handler of the user, until it is closed. */
public final class WarningHandler extends Handler implements AutoCloseable {
  /** Held, or it might be forgotten together with the handler. */
  private static final Logger STORES = Logger.getLogger("io.kvsep");

  private final Consumer<LogRecord> shown;

  private WarningHandler(Consumer<LogRecord> shown) {
    this.shown = shown;
  }

  /** From now on; {@code shown} may throw, and be called by any thread. */
  public static WarningHandler begin(Consumer<LogRecord> shown) {
    WarningHandler handler = new WarningHandler(shown);
    STORES.addHandler(handler);
    return handler;
  }

  /** One that throws each time; no OutOfMemoryError, which would end the tests. */
  public static WarningHandler failing() {
    return begin(
        record -> {
          throw new Error("as a test wants it");
        });
  }

  @Override
  public void publish(LogRecord record) {
    shown.accept(record);
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    STORES.removeHandler(this);
  }
}
