package io.kvsep.server.cli;

import java.util.Objects;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Prints warnings of a store, such as damaged files, as one line each on standard error. */
final class WarningLines extends Handler {
  /** A strong reference: without one the logger is collected together with its handlers. */
  private static final Logger STORE = Logger.getLogger("io.kvsep");

  private final Streams streams;

  WarningLines(Streams streams) {
    this.streams = streams;
    setLevel(Level.WARNING);
  }

  /** Applies to the whole process. */
  static void install(Streams streams) {
    STORE.setUseParentHandlers(false);
    STORE.addHandler(new WarningLines(streams));
  }

  @Override
  public void publish(LogRecord record) {
    if (isLoggable(record)) {
      streams.warn(Objects.requireNonNullElse(record.getMessage(), ""));
    }
  }

  @Override
  public void flush() {
    streams.errors().flush();
  }

  @Override
  public void close() {
    flush();
  }
}
