package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Writes that an event loop could carry out. */
final class QuickWritesTest {
  @TempDir Path directory;

  /** A transaction that met conflicts keeps others out, or might never come through. */
  @Test
  @Timeout(60)
  void waitInTheLaneWhileOthersAreKeptOut() throws Exception {
    try (RunningRedis redis = RunningRedis.in(directory);
        RawClient client = redis.connect()) {
      client.expect("SET k 1", "+OK^");
      ReentrantReadWriteLock commits = redis.server.state().commits();
      commits.writeLock().lock();
      try {
        client.send("SET k 2^");
        while (!commits.hasQueuedThreads()) {
          if (Thread.interrupted()) {
            throw new InterruptedException("no thread waits for the lock");
          }
          Thread.onSpinWait();
        }
      } finally {
        commits.writeLock().unlock();
      }
      assertEquals("+OK^", client.reply());
      client.expect("GET k", "$1^2^");
    }
  }
}
