package io.kvsep.server;

import java.util.Objects;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Shows what a store warns of, such as a damaged file it found, as one line on standard error. */
final class WarningLines extends Handler {
  /** Kept, because a logger nobody holds is collected together with its handlers. */
  private static final Logger STORE = Logger.getLogger("io.kvsep");

  private final Streams streams;

  WarningLines(Streams streams) {
    this.streams = streams;
    setLevel(Level.WARNING);
  }

  /** For the whole process. */
  static void install(Streams streams) {
    STORE.setUseParentHandlers(false);
    STORE.addHandler(new WarningLines(streams));
  }

  @Override
  public void publish(LogRecord record) {
    if (isLoggable(record)) {
      streams.errors().println(Kvsep.line(Objects.requireNonNullElse(record.getMessage(), "")));
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
