package io.kvsep.server.cli;

import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Shows on a terminal line what work is running and for how long, for work whose progress is
 * unknown. A separate thread redraws the line each second; it is wiped at the end. Does nothing if
 * standard error is not a terminal.
 *
 * <p>The work neither waits for the terminal nor fails because of it. At the end it waits for the
 * line to be wiped, but only briefly: the user may have stopped the terminal. An interrupt does not
 * end the work, nor suppress its report.
 */
final class ElapsedLine {
  private static final long LOOK_MILLIS = 250;
  private static final long WIPE_MILLIS_MAX = 1000;

  private final Streams streams;
  private final String label;
  private final LongSupplier nanos;
  private final long lookMillis;
  private final long wipeMillisMax;
  private final CountDownLatch ended = new CountDownLatch(1);

  ElapsedLine(Streams streams, String label) {
    this(streams, label, System::nanoTime, LOOK_MILLIS, WIPE_MILLIS_MAX);
  }

  /** For tests, with their own clock and shorter times. */
  ElapsedLine(
      Streams streams, String label, LongSupplier nanos, long lookMillis, long wipeMillisMax) {
    this.streams = streams;
    this.label = label;
    this.nanos = nanos;
    this.lookMillis = lookMillis;
    this.wipeMillisMax = wipeMillisMax;
  }

  /** Does the work on the calling thread; called once. */
  <T> T during(Supplier<T> work) {
    Thread drawing = streams.errorsAreTerminal() ? startDrawing() : null;
    try {
      return work.get();
    } finally {
      streams.output().resume();
      ended.countDown();
      if (drawing != null) {
        awaitEnd(drawing);
      }
    }
  }

  /** Null if there is no memory for a thread; the work proceeds without the line. */
  private @Nullable Thread startDrawing() {
    long start = nanos.getAsLong();
    try {
      Thread thread = new Thread(() -> draw(start), "kvsep-elapsed");
      thread.setDaemon(true);
      thread.start();
      return thread;
    } catch (OutOfMemoryError e) {
      return null;
    }
  }

  private void awaitEnd(Thread drawing) {
    try {
      drawing.join(wipeMillisMax);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void draw(long start) {
    TerminalLine line = new TerminalLine(streams.errors());
    String drawn = "";
    try {
      do {
        String text = text(label, nanos.getAsLong() - start);
        if (!text.equals(drawn)) {
          line.draw(text);
          drawn = text;
        }
      } while (!ended.await(lookMillis, TimeUnit.MILLISECONDS));
    } catch (InterruptedException e) {
      // Not expected; wipes the line, and the work continues without it.
      Thread.currentThread().interrupt();
    }
    line.wipe();
  }

  static String text(String label, long nanos) {
    long seconds = TimeUnit.NANOSECONDS.toSeconds(nanos);
    return String.format(Locale.ROOT, "%s  %d:%02d", label, seconds / 60, seconds % 60);
  }
}
