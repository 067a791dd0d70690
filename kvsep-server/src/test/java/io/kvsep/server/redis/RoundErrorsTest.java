package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.DefaultEventExecutor;
import io.netty.util.concurrent.Future;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where memory lacks in the middle of a round, whom it was about is closed, and others go on. */
final class RoundErrorsTest {
  private static final int KEYS = 1000;

  @TempDir Path directory;
  private final DefaultEventExecutor loop = new DefaultEventExecutor();
  private final ExecutorService elsewhere = Executors.newSingleThreadExecutor();
  private final List<Client> clients = new ArrayList<>();
  private final FailingAllocator shared = new FailingAllocator(Integer.MAX_VALUE);
  private KvStore store;
  private ServerState server;
  private Lane lane;

  /** Gives no more bytes than some at once. */
  private static final class FailingAllocator extends AbstractByteBufAllocator {
    final List<ByteBuf> given = Collections.synchronizedList(new ArrayList<>());
    private volatile int bytesMax;

    FailingAllocator(int bytesMax) {
      super(/* preferDirect= */ false);
      this.bytesMax = bytesMax;
    }

    @Override
    protected ByteBuf newHeapBuffer(int bytes, int max) {
      ByteBuf buffer =
          new UnpooledHeapByteBuf(this, bytes, max) {
            @Override
            protected byte[] allocateArray(int length) {
              if (length > bytesMax) {
                throw new OutOfMemoryError("of this test");
              }
              return super.allocateArray(length);
            }
          };
      given.add(buffer);
      return buffer;
    }

    @Override
    protected ByteBuf newDirectBuffer(int bytes, int max) {
      return newHeapBuffer(bytes, max);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  /** A connection that keeps what is delivered to it. */
  private final class Client {
    final EmbeddedChannel channel = new EmbeddedChannel();
    final BlockingQueue<Delivery> deliveries = new LinkedBlockingQueue<>();
    final Session session;
    private final boolean takesReplies;

    Client(int replyBytesMax) {
      this(replyBytesMax, /* takesReplies= */ true);
    }

    Client(int replyBytesMax, boolean takesReplies) {
      Replies replies = new Replies(new FailingAllocator(replyBytesMax), Integer.MAX_VALUE);
      session = new Session(clients.size(), channel, lane, replies, this::take, 0);
      session.trusted = true;
      this.takesReplies = takesReplies;
      clients.add(this);
    }

    private void take(Delivery delivery) {
      if (!takesReplies && delivery.replies().isReadable()) {
        throw new OutOfMemoryError("of this test");
      }
      deliveries.add(delivery);
    }

    Lane.Turn turn(String... lines) {
      List<Request> requests = new ArrayList<>();
      for (String line : lines) {
        byte[][] arguments =
            Arrays.stream(line.split(" ", -1))
                .map(word -> word.getBytes(US_ASCII))
                .toArray(byte[][]::new);
        Command command = server.commands().find(arguments[0]);
        requests.add(Request.of(arguments, command, line.length(), 0));
      }
      return new Lane.Turn(session, requests, null);
    }

    /** The next that brings something, or the end. */
    Delivery next() throws InterruptedException {
      while (true) {
        Delivery next = deliveries.poll(60, TimeUnit.SECONDS);
        assertNotNull(next, "nothing was delivered");
        if (next.replies().isReadable() || next.closing()) {
          return next;
        }
      }
    }
  }

  @BeforeEach
  void open() {
    store = KvStore.open(directory);
    server = new ServerState(store, RunningRedis.loopback());
    lane = lane(Runnable::run);
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < KEYS; i++) {
      batch.put(("key:" + (KEYS + i)).getBytes(US_ASCII), new byte[0]);
    }
    store.write(batch);
  }

  private Lane lane(Executor longCommands) {
    return new Lane(server, loop, longCommands, shared, "test");
  }

  @AfterEach
  void close() throws InterruptedException {
    lane.stop();
    assertTrue(lane.awaitStop(60_000));
    elsewhere.shutdown();
    Future<?> ended = loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    ended.awaitUninterruptibly();
    clients.forEach(client -> client.channel.finish());
    store.close();
  }

  private static String replies(Delivery delivery) {
    return delivery.replies().toString(US_ASCII);
  }

  /** Commands that arrive together. */
  private void arrive(Lane.Turn... turns) {
    loop.execute(() -> Arrays.stream(turns).forEach(lane::arrive));
  }

  @Test
  void writersWhoCannotEvenBeToldOfAnErrorAreClosed() {
    Client lost = new Client(0);
    Client written = new Client(Integer.MAX_VALUE);
    Client committing = new Client(Integer.MAX_VALUE);
    Round round = new Round(server, lane, new ReadPace(), /* mayWait= */ true);

    round.begin();
    for (Lane.Turn turn :
        List.of(
            lost.turn("INCR a", "INCR a"),
            written.turn("INCR b"),
            committing.turn("INCR c", "ECHO end"))) {
      turn.session().inbox.addAll(turn.requests());
      round.serve(turn.session(), 0);
    }
    List<Delivery> deliveries = round.end();

    assertEquals(3, deliveries.size());
    assertTrue(deliveries.get(0).closing());
    assertEquals("", replies(deliveries.get(0)));
    assertFalse(deliveries.get(1).closing());
    assertEquals(":1\r\n", replies(deliveries.get(1)));
    assertFalse(deliveries.get(2).closing());
    assertEquals(":1\r\n$3\r\nend\r\n", replies(deliveries.get(2)));
    assertNull(store.get("a".getBytes(US_ASCII)));
  }

  @Test
  void repliesOfALongCommandThatThereIsNoRoomForCloseNobodyElse() throws Exception {
    Client lost = new Client(4096);
    Client other = new Client(Integer.MAX_VALUE);

    arrive(lost.turn("INFO server", "KEYS *"), other.turn("INFO server"));

    assertTrue(replies(other.next()).startsWith("$"));
    assertTrue(lost.next().closing());
    assertEquals(1, shared.given.size());
    assertEquals(0, shared.given.get(0).refCnt());
  }

  @Test
  void aLongCommandThatCannotBeAnsweredEndsItsConnection() throws Exception {
    lane.stop();
    assertTrue(lane.awaitStop(60_000));
    lane = lane(elsewhere);
    shared.bytesMax = 0;
    Client lost = new Client(Integer.MAX_VALUE);

    arrive(lost.turn("KEYS *", "ECHO end"));

    Delivery last = lost.next();
    assertTrue(last.closing());
    assertEquals("", replies(last));
  }

  @Test
  void repliesThatOneConnectionCannotTakeComeToTheOthers() throws Exception {
    Client lost = new Client(Integer.MAX_VALUE, /* takesReplies= */ false);
    Client other = new Client(Integer.MAX_VALUE);

    arrive(lost.turn("PING"), other.turn("PING"));
    assertEquals("+PONG\r\n", replies(other.next()));
    assertFalse(lost.channel.isOpen());

    Client third = new Client(Integer.MAX_VALUE, /* takesReplies= */ false);
    arrive(third.turn("INFO server"), other.turn("INFO server"));
    assertTrue(replies(other.next()).startsWith("$"));
    assertFalse(third.channel.isOpen());
  }
}
