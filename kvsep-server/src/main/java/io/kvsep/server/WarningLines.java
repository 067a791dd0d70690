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

  /** As much of a terminal's line as may be drawn there while something is under way. */
  private static final int DRAWN_COLUMNS_MAX = 79;

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
      String line = Kvsep.line(Objects.requireNonNullElse(record.getMessage(), ""));
      streams.errors().println(streams.errorsAreTerminal() ? overDrawn(line) : line);
    }
  }

  /** In the place of what is drawn, which is drawn anew below. */
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
