package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SessionCacheTest {
  private static final Duration HALF_AN_HOUR = Duration.ofMinutes(30);

  @TempDir Path directory;
  private final HandClock clock = new HandClock();
  private KvStore store;

  @BeforeEach
  void open() {
    store = KvStore.open(directory, KvOptions.builder().clock(clock).build());
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void sessionsExpireSomeTimeAfterTheirLastUse() {
    SessionCache sessions = new SessionCache(store, HALF_AN_HOUR, clock);
    sessions.open("token", "ada");

    for (int i = 0; i < 3; i++) {
      clock.advance(HALF_AN_HOUR.minusMillis(1));
      assertEquals(Optional.of("ada"), sessions.user("token"));
    }
    clock.advance(HALF_AN_HOUR);
    assertEquals(Optional.empty(), sessions.user("token"));

    sessions.open("token", "grace");
    assertEquals(Optional.of("grace"), sessions.user("token"));
  }

  @Test
  void aUseInTheFirstHalfOfTheTimeWritesNothing() {
    SessionCache sessions = new SessionCache(store, HALF_AN_HOUR, clock);
    sessions.open("token", "ada");
    long commits = store.stats().commits();

    clock.advance(HALF_AN_HOUR.dividedBy(2));
    assertEquals(Optional.of("ada"), sessions.user("token"));
    assertEquals(commits, store.stats().commits());
    clock.advance(Duration.ofMillis(1));
    assertEquals(Optional.of("ada"), sessions.user("token"));
    assertEquals(commits + 1, store.stats().commits());
  }

  @Test
  void sessionsSurviveARestartAndEndWhenClosed() {
    new SessionCache(store, HALF_AN_HOUR, clock).open("token", "ada");
    store.close();
    open();
    SessionCache sessions = new SessionCache(store, HALF_AN_HOUR, clock);

    assertEquals(Optional.of("ada"), sessions.user("token"));
    sessions.close("token");
    assertEquals(Optional.empty(), sessions.user("token"));
  }

  @Test
  void noVisitIsLostBetweenThreads() throws InterruptedException {
    SessionCache sessions = new SessionCache(store, HALF_AN_HOUR, clock);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Thread thread =
          new Thread(
              () -> {
                for (int j = 0; j < 500; j++) {
                  sessions.countVisit("ada");
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }

    assertEquals(2001, sessions.countVisit("ada"));
    assertEquals(1, sessions.countVisit("grace"));
  }

  @Test
  void theProgramRuns() {
    store.close();
    String[] arguments = {directory.toString()};

    assertEquals("ada, visit 1\n", Printed.by(() -> SessionCache.main(arguments)));
    assertEquals("ada, visit 2\n", Printed.by(() -> SessionCache.main(arguments)));
  }

  private static final class HandClock extends Clock {
    private volatile Instant now = Instant.parse("2026-01-01T00:00:00Z");

    void advance(Duration time) {
      now = now.plus(time);
    }

    @Override
    public Instant instant() {
      return now;
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }
}
