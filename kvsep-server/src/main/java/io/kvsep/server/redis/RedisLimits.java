package io.kvsep.server.redis;

import java.time.Duration;

/**
 * What one client, and all of them together, may take. Each is checked before the memory is taken.
 *
 * @param connections at a time; one more is told so and closed
 * @param arguments of one command, its name included
 * @param commandBytes of all arguments of one command, and of a value that a command makes
 * @param requestBytes of all commands that are being received or carried out, and of what MGET and
 *     KEYS read, of what a transaction queues, and of watched keys, beyond the first 64 KiB of
 *     each; also of a value that a command makes, and of all replies that clients have not taken
 * @param replyBytes of one reply
 * @param pipelined commands of one connection that have no answer yet; it is not read from beyond
 * @param slowReader how long a connection may take less than 64 KiB of what waits to be sent to it,
 *     where that is more, or not all of it, or send less than 64 KiB of a longer command that it
 *     has begun
 * @param authentication how long a connection may take to give the token
 */
public record RedisLimits(
    int connections,
    int arguments,
    int commandBytes,
    long requestBytes,
    int replyBytes,
    int pipelined,
    Duration slowReader,
    Duration authentication) {
  private static final Duration TIME_MIN = Duration.ofMillis(1);
  private static final Duration TIME_MAX = Duration.ofMillis(Integer.MAX_VALUE);

  public RedisLimits {
    atLeast("connections", connections, 1);
    atLeast("arguments", arguments, 1);
    atLeast("commandBytes", commandBytes, 1024);
    atLeast("requestBytes", requestBytes, 1024);
    atLeast("replyBytes", replyBytes, 1024);
    atLeast("pipelined", pipelined, 1);
    check("slowReader", slowReader);
    check("authentication", authentication);
  }

  /** Redis's own where it has them; a quarter of the heap for commands under way. */
  public static RedisLimits defaults() {
    return new RedisLimits(
        10_000,
        1 << 20,
        512 << 20,
        Runtime.getRuntime().maxMemory() / 4,
        512 << 20,
        1024,
        Duration.ofSeconds(60),
        Duration.ofSeconds(10));
  }

  private static void atLeast(String name, long value, long min) {
    if (value < min) {
      throw new IllegalArgumentException(name + " must be at least " + min + ", is " + value);
    }
  }

  private static void check(String name, Duration value) {
    if (value.compareTo(TIME_MIN) < 0 || value.compareTo(TIME_MAX) > 0) {
      throw new IllegalArgumentException(
          name + " must be from " + TIME_MIN + " to " + TIME_MAX + ", is " + value);
    }
  }
}
