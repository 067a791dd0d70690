package io.kvsep.server.cli;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The time to live of what a command writes. */
final class TtlOption {
  private static final Duration LONGEST = Duration.ofMillis(Long.MAX_VALUE / 2);

  @Option(
      names = "--ttl",
      paramLabel = "TIME",
      converter = Amounts.TimeToLive.class,
      description = "Entries expire after TIME: 10s, 5m, 2h, 1d or ISO-8601 such as PT90S.")
  private @Nullable Duration timeToLive;

  /** Null if entries do not expire. */
  @Nullable Duration timeToLive() {
    return timeToLive;
  }

  /** When an entry written now expires, in milliseconds since the epoch; null if never. */
  @Nullable Long expiresAtMillis() {
    if (timeToLive == null) {
      return null;
    }
    Duration clamped = timeToLive.compareTo(LONGEST) > 0 ? LONGEST : timeToLive;
    return System.currentTimeMillis() + Math.max(1, clamped.toMillis());
  }
}
