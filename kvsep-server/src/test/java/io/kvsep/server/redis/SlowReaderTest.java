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
  private static final int ALL_BYTES_MAX = 2 << 20;
  private static final long MILLIS = RedisLimits.defaults().slowReader().toMillis();

  @TempDir Path directory;
  private KvStore store;
  private ServerState state;
  private Reader reader;

  /** A channel whose other side takes what it is told to. */
  private static final class Reader extends EmbeddedChannel {
    private final CommandExecutor lane;
    private final RedisHandler handler;
    private final Session session;
    private long allowed;
    private long taken;

    Reader(ServerState state) {
      freezeTime();
      lane = new CommandExecutor(state, eventLoop(), Runnable::run, alloc(), "lane");
      handler = new RedisHandler(state, lane);
      pipeline().addLast(handler).fireChannelActive();
      session =
          state.sessions().stream().filter(any -> any.channel == this).findFirst().orElseThrow();
    }

    void reply(int bytes) {
      ByteBuf replies = Unpooled.wrappedBuffer(new byte[bytes]);
      handler.deliver(new RoundReplies(session, replies, 0, 0, 0, true, false, false));
      runPendingTasks();
    }

    void take(int bytes) {
      allowed += bytes;
      flush();
      runPendingTasks();
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

    void end() {
      assertTrue(finishAndReleaseAll() || !isOpen());
      lane.stop();
    }
  }

  @BeforeEach
  void open() throws IOException {
    store = KvStore.open(directory);
    RedisLimits usual = RedisLimits.defaults();
    RedisLimits limits =
        new RedisLimits(
            usual.connections(),
            usual.arguments(),
            usual.commandBytes(),
            ALL_BYTES_MAX,
            usual.replyBytes(),
            usual.pipelined(),
            usual.slowReader(),
            usual.authentication());
    state = new ServerState(store, RunningRedis.loopback().withLimits(limits));
    reader = new Reader(state);
  }

  @AfterEach
  void close() {
    reader.end();
    store.close();
  }

  @Test
  void aLongReplyMayTakeAsLongAsSomeOfItIsTaken() {
    reader.reply(REPLY_BYTES);
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
    reader.reply(REPLY_BYTES);
    reader.passes(MILLIS / 2);
    reader.take(REPLY_BYTES / 4);
    reader.reply(REPLY_BYTES);
    reader.passes(MILLIS / 2);
    assertTrue(reader.isOpen());
  }

  @Test
  void whoTakesNothingForTooLongIsClosed() {
    reader.reply(REPLY_BYTES);
    reader.take(100_000);
    reader.passes(MILLIS);
    assertTrue(reader.isOpen());
    reader.passes(MILLIS);
    assertFalse(reader.isOpen());
  }

  @Test
  void shortRepliesHaveToBeTakenAsFastAsCommandsHaveToCome() {
    for (int i = 0; i < 1000; i++) {
      reader.reply(1000);
    }
    // Up to what there was when nothing had waited before.
    reader.take(2000);
    reader.take(100_000);
    reader.passes(MILLIS);
    assertTrue(reader.isOpen());
    reader.take(2000);
    reader.passes(MILLIS);
    assertFalse(reader.isOpen());
  }

  @Test
  void aFewUnreadRepliesAreWaitedForNoLonger() {
    reader.reply(10);
    reader.passes(MILLIS - 1);
    assertTrue(reader.isOpen());
    // What is added does not begin the time anew.
    reader.reply(10);
    reader.passes(1);
    assertFalse(reader.isOpen());
  }

  @Test
  void whoHasTheShareOfManyIsClosedWhereAllHaveTooMuch() {
    reader.reply(ALL_BYTES_MAX + 100_000);
    assertTrue(reader.isOpen(), "no other client has anything");
    Reader modest = new Reader(state);
    modest.reply(100_000);
    assertTrue(modest.isOpen() && reader.isOpen());
    reader.reply(10);
    assertFalse(reader.isOpen());
    // What it had counts no more.
    Reader third = new Reader(state);
    third.reply(ALL_BYTES_MAX / 2);
    assertTrue(modest.isOpen() && third.isOpen());
    third.reply(ALL_BYTES_MAX / 2);
    assertFalse(third.isOpen());
    modest.take(200_000);
    third = new Reader(state);
    third.reply(2 * ALL_BYTES_MAX);
    assertTrue(modest.isOpen() && third.isOpen());
    modest.end();
    third.end();
  }
}
