package io.kvsep.server.cli;

import java.util.Locale;

/**
 * Shows the progress of long work on a terminal line: percent, rate and remaining time. Redrawn at
 * most ten times a second, and wiped on close. Does nothing if standard error is not a terminal.
 */
final class ProgressBar implements AutoCloseable {
  private static final long REDRAW_NANOS = 100_000_000;
  private static final int CELLS = 24;

  private final Streams streams;
  private final String label;
  private final long totalBytes;
  private final TerminalLine line;
  private final long startNanos = System.nanoTime();
  private long doneBytes;
  private long drawnNanos = startNanos;

  ProgressBar(Streams streams, String label, long totalBytes) {
    this.streams = streams;
    this.label = label;
    this.totalBytes = totalBytes;
    this.line = new TerminalLine(streams.errors());
  }

  void advance(long bytes) {
    doneBytes += bytes;
    if (streams.errorsAreTerminal()) {
      long now = System.nanoTime();
      if (now - drawnNanos >= REDRAW_NANOS) {
        drawnNanos = now;
        line.draw(line(label, doneBytes, totalBytes, now - startNanos));
      }
    }
  }

  @Override
  public void close() {
    line.wipe();
  }

  /** The work may turn out longer than planned: the bar then stays full. */
  static String line(String label, long doneBytes, long totalBytes, long nanos) {
    double share = totalBytes <= 0 ? 1 : Math.min(1.0, doneBytes / (double) totalBytes);
    int filled = (int) (share * CELLS);
    long leftSeconds = share <= 0 ? 0 : (long) (Amounts.seconds(nanos) * (1 - share) / share);
    return String.format(
        Locale.ROOT,
        "%-9s [%s%s] %3d%%  %.1f MB/s  ETA %d:%02d",
        label,
        "#".repeat(filled),
        ".".repeat(CELLS - filled),
        (int) (share * 100),
        Amounts.megabytesPerSecond(doneBytes, nanos),
        leftSeconds / 60,
        leftSeconds % 60);
  }
}
