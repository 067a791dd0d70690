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

  /** Most columns that a progress line uses. */
  private static final int DRAWN_COLUMNS_MAX = 79;

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
      String line = Kvsep.line(Objects.requireNonNullElse(record.getMessage(), ""));
      streams.errors().println(streams.errorsAreTerminal() ? overDrawn(line) : line);
    }
  }

  /** Overwrites the progress line, which is then redrawn below. */
  private static String overDrawn(String line) {
    return "\r" + line + " ".repeat(Math.max(0, DRAWN_COLUMNS_MAX - line.length()));
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
