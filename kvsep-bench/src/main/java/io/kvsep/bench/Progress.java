package io.kvsep.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/**
 * A progress line for a long step, redrawn a few times a second, only on a terminal. Used by the
 * thread that does the step.
 */
public final class Progress implements AutoCloseable {
  private static final int BAR_COLUMNS = 30;

  /** Upper bound of what is drawn next to the label. */
  private static final int COLUMNS_BESIDE = 68;

  private static final long REDRAW_NANOS = 200_000_000;
  private static final boolean TERMINAL = isTerminal();

  private final String label;
  private final long total;
  private final boolean timed;
  private final PrintStream target;
  private final long startNanos = System.nanoTime();
  private long drawnNanos = startNanos;
  private boolean drawn;

  public Progress(String label, long total, PrintStream target) {
    this(label, total, /* timed= */ false, target);
  }

  private Progress(String label, long total, boolean timed, PrintStream target) {
    this.label = label;
    this.total = Math.max(1, total);
    this.timed = timed;
    this.target = target;
  }

  /** For a step of known duration; drawn by {@link #update()}. */
  static Progress ofTime(String label, Duration time, PrintStream target) {
    return new Progress(label, time.toNanos(), /* timed= */ true, target);
  }

  /** Draws the elapsed part of the duration of {@link #ofTime}. */
  void update() {
    if (TERMINAL) {
      update(System.nanoTime() - startNanos);
    }
  }

  public void update(long done) {
    if (!TERMINAL) {
      return;
    }
    long now = System.nanoTime();
    if (now - drawnNanos < REDRAW_NANOS) {
      return;
    }
    drawnNanos = now;
    drawn = true;
    int filled = (int) (BAR_COLUMNS * Math.min(done, total) / total);
    String speed =
        timed
            ? String.format(Locale.ROOT, "of %,d s", total / 1_000_000_000)
            : String.format(Locale.ROOT, "%,.0f/s", done * 1e9 / Math.max(1, now - startNanos));
    target.printf(
        Locale.ROOT,
        "\r%-10s [%s%s] %3d%%  %s ",
        label,
        "#".repeat(filled),
        ".".repeat(BAR_COLUMNS - filled),
        100 * Math.min(done, total) / total,
        speed);
    target.flush();
  }

  @Override
  public void close() {
    if (drawn) {
      target.print("\r" + " ".repeat(label.length() + COLUMNS_BESIDE) + "\r");
      target.flush();
    }
  }

  /**
   * Whether standard error is a terminal. Java 17 reports only input and output together, and from
   * Java 22 on there is always a console, so this asks Linux through /proc.
   */
  private static boolean isTerminal() {
    try {
      Path device = Files.readSymbolicLink(Path.of("/proc/self/fd/2"));
      return device.startsWith("/dev/pts") || device.toString().startsWith("/dev/tty");
    } catch (IOException | UnsupportedOperationException e) {
      return System.console() != null && Runtime.version().feature() < 22;
    }
  }
}
