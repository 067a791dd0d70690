package io.kvsep.server.redis;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import java.time.Clock;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Surveys of the databases. A small database is surveyed each time. The survey of a large one is
 * cached, and renewed so rarely that surveys take at most a twentieth of one processor. Thread
 * safe.
 */
final class KeySurveys {
  /** A database with more keys is large. */
  static final int SMALL_KEYS_MAX = 10_000;

  /** The survey of a large database is valid for this many times its duration. */
  static final int VALIDITY = 20;

  private record Dated(KeySurvey survey, long atNanos, long tookNanos) {}

  private final Entries.Spaces databases;
  private final Clock clock;
  private final LongSupplier nanos;
  private final Executor background;

  private final AtomicReferenceArray<@Nullable Dated> latest =
      new AtomicReferenceArray<>(Entries.DATABASES);

  private final AtomicBoolean isSurveying = new AtomicBoolean();

  /**
   * @param background runs surveys that no client waits for, one at a time
   */
  KeySurveys(Entries.Spaces databases, Clock clock, LongSupplier nanos, Executor background) {
    this.databases = databases;
    this.clock = clock;
    this.nanos = nanos;
    this.background = background;
  }

  /** Returns a valid survey; scans all keys if there is none. */
  KeySurvey recent(int database) {
    Dated known = latest.get(database);
    return known != null && holds(known) ? known.survey : survey(database);
  }

  /**
   * Returns the latest survey without waiting for a scan of a large database. If it is too old, a
   * new one begins in the background. Before the first one, an extrapolation from the first keys is
   * returned.
   *
   * @param keysEstimate estimated number of keys for that extrapolation
   */
  KeySurvey latest(int database, long keysEstimate) {
    Dated known = latest.get(database);
    if (known != null && holds(known)) {
      return known.survey;
    }
    if (known != null) {
      surveyInBackground(database);
      return known.survey;
    }
    KeySurvey first = look(database, SMALL_KEYS_MAX + 1L);
    if (first.keys() <= SMALL_KEYS_MAX) {
      return first;
    }
    surveyInBackground(database);
    return first.scaledTo(Math.max(first.keys(), keysEstimate));
  }

  private boolean holds(Dated known) {
    return nanos.getAsLong() - known.atNanos < VALIDITY * known.tookNanos;
  }

  private KeySurvey survey(int database) {
    long begin = nanos.getAsLong();
    KeySurvey survey = look(database, Long.MAX_VALUE);
    long end = nanos.getAsLong();
    boolean isLarge = survey.keys() > SMALL_KEYS_MAX;
    latest.set(database, isLarge ? new Dated(survey, end, end - begin) : null);
    return survey;
  }

  private KeySurvey look(int database, long keysMax) {
    ScanOptions options = ScanOptions.all().keysOnly().limit(keysMax);
    try (KvCursor cursor = databases.at(database).cursor(options)) {
      return KeySurvey.of(cursor, clock.millis());
    }
  }

  private void surveyInBackground(int database) {
    if (!isSurveying.compareAndSet(false, true)) {
      return;
    }
    try {
      background.execute(() -> surveyUnseen(database));
    } catch (RuntimeException | Error e) {
      // No memory for a thread. The next call tries again.
      isSurveying.set(false);
    }
  }

  private void surveyUnseen(int database) {
    try {
      KeySurvey unusedSurvey = survey(database);
    } catch (RuntimeException | Error e) {
      // The store is closed or cannot be read; commands of clients meet the same error.
      return;
    } finally {
      isSurveying.set(false);
    }
  }

  /** Drops all surveys, because a command removes or exchanges whole databases. */
  void forget() {
    for (int i = 0; i < Entries.DATABASES; i++) {
      latest.set(i, null);
    }
  }
}
