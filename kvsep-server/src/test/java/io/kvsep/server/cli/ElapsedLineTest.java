package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class ElapsedLineTest {
  private static final long SECOND = 1_000_000_000;

  private final AtomicLong now = new AtomicLong(7 * SECOND);

  /** Takes what is drawn, and tells when a text is there. */
  private static final class Screen extends OutputStream {
    private final ByteArrayOutputStream taken = new ByteArrayOutputStream();

    @Override
    public synchronized void write(int value) {
      taken.write(value);
      notifyAll();
    }

    synchronized String text() {
      return taken.toString(UTF_8);
    }

    synchronized void awaitEnd(String end) {
      while (!text().endsWith(end)) {
        try {
          wait();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
    }
  }

  private ElapsedLine line(OutputStream screen, long wipeMillisMax) {
    Streams streams =
        Streams.of(InputStream.nullInputStream(), OutputStream.nullOutputStream(), screen);
    return new ElapsedLine(
        CommandRun.onTerminal(streams), "compact", now::get, /* lookMillis= */ 1, wipeMillisMax);
  }

  @Test
  void minutesAndSecondsAreShown() {
    assertEquals("compact  0:00", ElapsedLine.text("compact", SECOND - 1));
    assertEquals("compact  1:05", ElapsedLine.text("compact", 65 * SECOND));
    assertEquals("compact  100:00", ElapsedLine.text("compact", 6_000 * SECOND));
  }

  @Test
  void theLineIsDrawnAnewWhenTimeHasPassedAndWipedAwayAtTheEnd() {
    Screen screen = new Screen();
    Thread caller = Thread.currentThread();

    Thread worker =
        line(screen, 60_000)
            .during(
                () -> {
                  screen.awaitEnd("\rcompact  0:00");
                  now.addAndGet(65 * SECOND);
                  screen.awaitEnd("\rcompact  1:05");
                  now.addAndGet(6_000 * SECOND);
                  screen.awaitEnd("\rcompact  101:05");
                  return Thread.currentThread();
                });

    assertSame(caller, worker);
    assertEquals(
        "\rcompact  0:00\rcompact  1:05\rcompact  101:05\r" + " ".repeat(15) + "\r", screen.text());
  }

  @Test
  void aFailureOfTheWorkGoesOut() {
    Screen screen = new Screen();
    IllegalStateException failure = new IllegalStateException("as a test wants it");

    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                line(screen, 60_000)
                    .during(
                        () -> {
                          throw failure;
                        }));

    assertSame(failure, thrown);
    assertEquals("\rcompact  0:00\r" + " ".repeat(13) + "\r", screen.text());
  }

  @Test
  void aTerminalThatIsStoppedHoldsNothingUp() {
    CountDownLatch stopped = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    Screen screen = new Screen();
    OutputStream terminal =
        new OutputStream() {
          @Override
          public void write(int value) {
            stopped.countDown();
            await(goesOn);
            screen.write(value);
          }
        };

    String result =
        line(terminal, /* wipeMillisMax= */ 1)
            .during(
                () -> {
                  await(stopped);
                  return "done";
                });

    assertEquals("done", result);
    assertEquals("", screen.text());
    goesOn.countDown();
    screen.awaitEnd(" \r");
  }

  @Test
  void anInterruptIsNotLost() {
    Screen screen = new Screen();
    line(screen, 60_000)
        .during(
            () -> {
              Thread.currentThread().interrupt();
              return "done";
            });
    assertTrue(Thread.interrupted());
    screen.awaitEnd(" \r");
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
