package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.kvsep.WriteBatch;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A connection that keeps the lane busy, and another one beside it. */
final class LaneTurnsTest {
  /** With as many GETs no more than are read from a connection without an answer. */
  private static final int SCANS = 500;

  /** The other one may not get a processor in time. */
  private static final int TRIES = 20;

  @TempDir Path directory;

  @Test
  void commandsThatTakeLongTogetherLetOthersInBetween() throws Exception {
    try (RunningRedis redis = RunningRedis.in(directory);
        RawClient busy = redis.connect();
        RawClient onTheOtherLoop = redis.connect();
        RawClient other = redis.connect()) {
      fill(redis);
      onTheOtherLoop.expect("PING", "+PONG^");
      String before = "";
      String last = "";
      for (int i = 0; i < TRIES && last.equals(before); i++) {
        other.expect("INCR n", ":" + (2 * i + 1) + "^");
        busy.send("SCAN 0 COUNT 10000 MATCH *nothing^GET n^".repeat(SCANS));
        busy.reply();
        other.expect("INCR n", ":" + (2 * i + 2) + "^");
        before = busy.reply();
        for (int scan = 1; scan < SCANS; scan++) {
          busy.reply();
          last = busy.reply();
        }
      }
      assertNotEquals(before, last, "the number that others had counted up meanwhile");
    }
  }

  private static void fill(RunningRedis redis) throws IOException {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < 10_000; i++) {
      batch.put(("a key of some length " + i).getBytes(US_ASCII), new byte[1]);
    }
    redis.store.write(batch);
  }
}
