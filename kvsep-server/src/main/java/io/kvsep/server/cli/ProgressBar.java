package io.kvsep.server.cli;

import java.util.Locale;

/**
 * Shows the progress of long work on a terminal line: percent, rate and remaining time, or amount,
 * rate and time if the total is unknown. Redrawn at most ten times a second, and wiped on close.
 * Draws nothing if standard error is not a terminal. Each step of the work is a point where an
 * interrupt ends it.
 */
final class ProgressBar implements AutoCloseable {
  private static final long REDRAW_NANOS = 100_000_000;
  private static final int CELLS = 24;

  /** Total of work whose amount is unknown. */
  static final long UNKNOWN = 0;

  /** What is counted. */
  enum Unit {
    BYTES,
    ENTRIES;

    private String amount(long done) {
      return this == BYTES ? Amounts.bytes(done) : Amounts.count(done);
    }

    private String rate(long done, long nanos) {
      return this == BYTES
          ? String.format(Locale.ROOT, "%.1f MB/s", Amounts.megabytesPerSecond(done, nanos))
          : Amounts.count(nanos <= 0 ? 0 : (long) (done / Amounts.seconds(nanos))) + "/s";
    }
  }

  private final StandardOutput output;
  private final boolean isDrawn;
  private final String label;
  private final long total;
  private final Unit unit;
  private final TerminalLine line;
  private final long startNanos = System.nanoTime();
  private long done;
  private long drawnNanos = startNanos;

  ProgressBar(Streams streams, String label, long totalBytes) {
    this(streams, label, totalBytes, Unit.BYTES);
  }

  ProgressBar(Streams streams, String label, long total, Unit unit) {
    this(streams, label, total, unit, streams.errorsAreTerminal());
  }

  private ProgressBar(Streams streams, String label, long total, Unit unit, boolean isDrawn) {
    this.output = streams.output();
    this.isDrawn = isDrawn;
    this.label = label;
    this.total = total;
    this.unit = unit;
    this.line = new TerminalLine(streams.errors());
  }

  /**
   * For work that writes to standard output: drawn only if that is a file. A terminal shows the
   * output, and so may the reader of a pipe.
   */
  static ProgressBar besideOutput(Streams streams, String label, long total, Unit unit) {
    boolean isDrawn = streams.errorsAreTerminal() && streams.outputIsFile();
    return new ProgressBar(streams, label, total, unit, isDrawn);
  }

  void advance(long amount) {
    output.requireNotInterrupted();
    done += amount;
    if (isDrawn) {
      long now = System.nanoTime();
      if (now - drawnNanos >= REDRAW_NANOS) {
        drawnNanos = now;
        line.draw(line(label, done, total, unit, now - startNanos));
      }
    }
  }

  @Override
  public void close() {
    line.wipe();
  }

  /** The work may turn out longer than planned: the bar then stays full. */
  static String line(String label, long done, long total, Unit unit, long nanos) {
    if (total <= UNKNOWN) {
      long seconds = (long) Amounts.seconds(nanos);
      return String.format(
          Locale.ROOT,
          "%-9s %s  %s  %d:%02d",
          label,
          unit.amount(done),
          unit.rate(done, nanos),
          seconds / 60,
          seconds % 60);
    }
    double share = Math.min(1.0, done / (double) total);
    int filled = (int) (share * CELLS);
    long leftSeconds = share <= 0 ? 0 : (long) (Amounts.seconds(nanos) * (1 - share) / share);
    return String.format(
        Locale.ROOT,
        "%-9s [%s%s] %3d%%  %s  ETA %d:%02d",
        label,
        "#".repeat(filled),
        ".".repeat(CELLS - filled),
        (int) (share * 100),
        unit.rate(done, nanos),
        leftSeconds / 60,
        leftSeconds % 60);
  }
}
