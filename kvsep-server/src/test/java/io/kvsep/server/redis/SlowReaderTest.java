package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How long a connection may take its time over replies, on a clock that the test moves. */
final class SlowReaderTest {
  private static final int REPLY_BYTES = 4 << 20;
  private static final long MILLIS = RedisLimits.defaults().slowReader().toMillis();

  @TempDir Path directory;
  private KvStore store;
  private Lane lane;
  private RedisHandler handler;
  private Session session;
  private Reader reader;

  /** A channel whose other side takes what it is told to. */
  private static final class Reader extends EmbeddedChannel {
    private long allowed;
    private long taken;

    void take(int bytes) {
      allowed += bytes;
      flush();
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer waiting) {
      while (taken < allowed && waiting.current() instanceof ByteBuf next) {
        long count = Math.min(allowed - taken, next.readableBytes());
        taken += count;
        waiting.removeBytes(count);
      }
    }

    void passes(long millis) {
      advanceTimeBy(millis, TimeUnit.MILLISECONDS);
      runScheduledPendingTasks();
    }
  }

  @BeforeEach
  void open() throws IOException {
    store = KvStore.open(directory);
    reader = new Reader();
    reader.freezeTime();
    ServerState state = new ServerState(store, RunningRedis.loopback());
    lane = new Lane(state, reader.eventLoop(), Runnable::run, reader.alloc(), "lane");
    handler = new RedisHandler(state, lane);
    reader.pipeline().addLast(handler).fireChannelActive();
    session = state.sessions().iterator().next();
  }

  @AfterEach
  void close() {
    assertTrue(reader.finishAndReleaseAll() || !reader.isOpen());
    lane.stop();
    store.close();
  }

  private void reply(int bytes) {
    ByteBuf replies = Unpooled.wrappedBuffer(new byte[bytes]);
    handler.deliver(new Delivery(session, replies, 0, 0, 0, true, false, false));
  }

  @Test
  void aLongReplyMayTakeAsLongAsSomeOfItIsTaken() {
    reply(REPLY_BYTES);
    for (int i = 0; i < 50; i++) {
      // It shows by the piece what was taken.
      reader.take(64 << 10);
      reader.passes(MILLIS);
      assertTrue(reader.isOpen(), "was closed in interval " + i);
    }
    reader.take(REPLY_BYTES);
    assertEquals(REPLY_BYTES, reader.taken);
    reader.passes(10 * MILLIS);
    assertTrue(reader.isOpen());
  }

  @Test
  void whatIsAddedDoesNotLookAsIfNothingWereTaken() {
    reply(REPLY_BYTES);
    reader.passes(MILLIS / 2);
    reader.take(REPLY_BYTES / 4);
    reply(REPLY_BYTES);
    reader.passes(MILLIS / 2);
    assertTrue(reader.isOpen());
  }

  @Test
  void whoTakesNothingForTooLongIsClosed() {
    reply(REPLY_BYTES);
    reader.take(100_000);
    reader.passes(MILLIS);
    assertTrue(reader.isOpen());
    reader.passes(MILLIS);
    assertFalse(reader.isOpen());
  }
}
