package io.kvsep.server.http;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Limits of a server. A request beyond a limit is refused with its own error and has no effect.
 *
 * @param valueBytesMax bytes of one value in a request
 * @param documentBytesMax bytes of a batch, a transaction or any other JSON in a request
 * @param bodiesBytesMax bytes of all bodies being received or processed at once, of objects made
 *     from JSON bodies, and of long compressed values being sent
 * @param requestsMax requests being processed at once, streams included
 * @param connectionsMax open connections
 * @param feedsMax change feeds at once
 * @param requestTime how long a request may take, in addition to the time of its bytes at
 *     bytesPerSecondMin; also how long a stream may make no progress. Maintenance such as
 *     compaction is not limited
 * @param idleTime how long a connection may be open without a request
 * @param scanTime after how long one answer of a scan ends with a cursor
 * @param heartbeatTime after how long without a change a change feed sends a heartbeat
 * @param bytesPerSecondMin minimum speed of long bodies, in either direction
 */
public record HttpLimits(
    int valueBytesMax,
    int documentBytesMax,
    long bodiesBytesMax,
    int requestsMax,
    int connectionsMax,
    int feedsMax,
    Duration requestTime,
    Duration idleTime,
    Duration scanTime,
    Duration heartbeatTime,
    int bytesPerSecondMin) {
  private static final int MIB = 1 << 20;
  private static final Duration TIME_MIN = Duration.ofMillis(1);
  private static final Duration TIME_MAX = Duration.ofMillis(Integer.MAX_VALUE);

  /** Reports all invalid limits at once. */
  public HttpLimits {
    List<String> problems = new ArrayList<>();
    check(problems, "valueBytesMax", valueBytesMax, 1 << 30);
    check(problems, "documentBytesMax", documentBytesMax, 1 << 30);
    check(problems, "bodiesBytesMax", bodiesBytesMax, Long.MAX_VALUE);
    check(problems, "requestsMax", requestsMax, 1 << 20);
    check(problems, "connectionsMax", connectionsMax, 1 << 20);
    check(problems, "feedsMax", feedsMax, 1 << 16);
    check(problems, "requestTime", requestTime);
    check(problems, "idleTime", idleTime);
    check(problems, "scanTime", scanTime);
    check(problems, "heartbeatTime", heartbeatTime);
    check(problems, "bytesPerSecondMin", bytesPerSecondMin, Integer.MAX_VALUE);
    if (!problems.isEmpty()) {
      throw new IllegalArgumentException("invalid limits: " + String.join("; ", problems));
    }
  }

  /** Defaults; bodies take at most a quarter of the heap. */
  public static HttpLimits defaults() {
    long quarter = Runtime.getRuntime().maxMemory() / 4;
    int value = (int) Math.min(64 * MIB, quarter);
    return new HttpLimits(
        value,
        (int) Math.min(16 * MIB, quarter),
        quarter,
        1024,
        4096,
        64,
        Duration.ofSeconds(30),
        Duration.ofSeconds(60),
        Duration.ofSeconds(30),
        Duration.ofSeconds(15),
        64 << 10);
  }

  /** Returns a copy with another valueBytesMax; raises bodiesBytesMax to it if necessary. */
  public HttpLimits valueBytesMax(int bytes) {
    return new HttpLimits(
        bytes,
        documentBytesMax,
        Math.max(bodiesBytesMax, bytes),
        requestsMax,
        connectionsMax,
        feedsMax,
        requestTime,
        idleTime,
        scanTime,
        heartbeatTime,
        bytesPerSecondMin);
  }

  /** How long a request or answer of this many bytes may take. */
  long millisFor(long bytes) {
    return requestTime.toMillis() + bytes * 1000 / bytesPerSecondMin;
  }

  private static void check(List<String> problems, String name, long value, long max) {
    if (value < 1 || value > max) {
      problems.add(name + " must be from 1 to " + max + ", is " + value);
    }
  }

  private static void check(List<String> problems, String name, Duration value) {
    if (value.compareTo(TIME_MIN) < 0 || value.compareTo(TIME_MAX) > 0) {
      problems.add(name + " must be from " + TIME_MIN + " to " + TIME_MAX + ", is " + value);
    }
  }
}
