package io.kvsep.server.redis;

import java.time.Duration;

/**
 * Limits of one client and of all clients together. Each is checked before memory is allocated.
 *
 * @param connections at a time; a further one gets an error and is closed
 * @param arguments of one command, including its name
 * @param commandBytes of all arguments of one command, and of a value that a command creates
 * @param requestBytes of all commands being received or executed, of what MGET and KEYS read, of
 *     queued transactions and of watched keys together, beyond the first 64 KiB of each; also of a
 *     value that a command creates, and of all replies that clients have not taken
 * @param replyBytes of one reply
 * @param pipelined unanswered commands of one connection; above that nothing is read from it
 * @param slowReader a connection is closed if within this time it takes less than 64 KiB of its
 *     pending replies, and not all of them, or sends less than 64 KiB of a longer command that it
 *     has begun
 * @param authentication how long a connection may take to authenticate
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

  /** The defaults of Redis where it has them; a quarter of the heap for {@code requestBytes}. */
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
