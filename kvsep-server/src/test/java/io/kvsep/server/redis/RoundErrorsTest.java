package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.kvsep.testing.ManualClock;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.Future;
import java.nio.file.Path;
import java.time.Clock;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where memory lacks in the middle of a round, whom it was about is closed, and others go on. */
final class RoundErrorsTest {
  private static final int KEYS = 1000;

  @TempDir Path directory;
  private final Loop loop = new Loop();
  private final ExecutorService elsewhere = Executors.newSingleThreadExecutor();
  private final List<Client> clients = new ArrayList<>();
  private final FailingAllocator shared = new FailingAllocator(Integer.MAX_VALUE);
  private KvStore store;
  private ServerState server;
  private CommandExecutor lane;

  /** Has no memory for a task when it is told so. */
  private static final class Loop extends DefaultEventLoop {
    final AtomicBoolean isFull = new AtomicBoolean();

    @Override
    public void execute(Runnable task) {
      if (isFull.getAndSet(false)) {
        throw new OutOfMemoryError("of this test");
      }
      super.execute(task);
    }
  }

  /** Cannot be closed when it is told so: that makes a promise. */
  private static final class Socket extends EmbeddedChannel {
    private volatile boolean lacksMemory;

    @Override
    public ChannelPromise newPromise() {
      if (lacksMemory) {
        throw new OutOfMemoryError("of this test");
      }
      return super.newPromise();
    }
  }

  /** Cannot be put into an inbox the first time. */
  private static final class Unwieldy extends AbstractList<Request> {
    private final List<Request> requests;
    private boolean isTold;

    Unwieldy(List<Request> requests) {
      this.requests = requests;
    }

    @Override
    public Request get(int index) {
      return requests.get(index);
    }

    @Override
    public int size() {
      if (!isTold) {
        isTold = true;
        throw new OutOfMemoryError("of this test");
      }
      return requests.size();
    }
  }

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
    final Socket channel = new Socket();
    final BlockingQueue<RoundReplies> deliveries = new LinkedBlockingQueue<>();
    final Session session;
    private final boolean takesReplies;

    Client(int replyBytesMax) {
      this(replyBytesMax, /* takesReplies= */ true);
    }

    Client(int replyBytesMax, boolean takesReplies) {
      Replies replies = new Replies(new FailingAllocator(replyBytesMax), Integer.MAX_VALUE);
      session = new Session(clients.size(), channel, replies, this::take, 0);
      session.trusted = true;
      this.takesReplies = takesReplies;
      clients.add(this);
    }

    private void take(RoundReplies delivery) {
      if (!takesReplies && delivery.replies().isReadable()) {
        throw new OutOfMemoryError("of this test");
      }
      deliveries.add(delivery);
    }

    CommandExecutor.Turn turn(String... lines) {
      return new CommandExecutor.Turn(session, requests(0, lines), null);
    }

    /** With so many bytes reserved for each. */
    List<Request> requests(long reservedBytes, String... lines) {
      List<Request> requests = new ArrayList<>();
      for (String line : lines) {
        byte[][] arguments =
            Arrays.stream(line.split(" ", -1))
                .map(word -> word.getBytes(US_ASCII))
                .toArray(byte[][]::new);
        Command command = server.commands().find(arguments[0]);
        assertTrue(server.budget().reserve(reservedBytes));
        requests.add(Request.of(arguments, command, line.length(), reservedBytes));
      }
      return requests;
    }

    /** The next that brings something, or the end. */
    RoundReplies next() throws InterruptedException {
      while (true) {
        RoundReplies next = deliveries.poll(60, TimeUnit.SECONDS);
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

  /** With another lane in place of the one that there is. */
  private void reopen(Executor longCommands) throws InterruptedException {
    lane.stop();
    assertTrue(lane.awaitStop(60_000));
    lane = lane(longCommands);
  }

  private CommandExecutor lane(Executor longCommands) {
    return new CommandExecutor(server, loop, longCommands, shared, "test");
  }

  @AfterEach
  void close() throws InterruptedException {
    lane.stop();
    assertTrue(lane.awaitStop(60_000));
    elsewhere.shutdown();
    Future<?> ended = loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    ended.awaitUninterruptibly();
    for (Client client : clients) {
      client.channel.lacksMemory = false;
      client.channel.finish();
    }
    store.close();
  }

  private static String replies(RoundReplies delivery) {
    return delivery.replies().toString(US_ASCII);
  }

  /** Commands that arrive together. */
  private void arrive(CommandExecutor.Turn... turns) {
    loop.execute(() -> Arrays.stream(turns).forEach(lane::arrive));
  }

  @Test
  void writersWhoCannotEvenBeToldOfAnErrorAreClosed() {
    Client lost = new Client(0);
    Client written = new Client(Integer.MAX_VALUE);
    Client committing = new Client(Integer.MAX_VALUE);
    CommandRound round = new CommandRound(server, lane, new ReadPace(), /* mayWait= */ true);

    round.begin();
    for (CommandExecutor.Turn turn :
        List.of(
            lost.turn("INCR a", "INCR a"),
            written.turn("INCR b"),
            committing.turn("INCR c", "ECHO end"))) {
      turn.session().inbox.addAll(turn.requests());
      round.serve(turn.session(), 0);
    }
    List<RoundReplies> deliveries = round.end();

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
  void repliesOfALongCommandWithoutRoomCloseNoOtherClient() throws Exception {
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
    reopen(elsewhere);
    shared.bytesMax = 0;
    Client lost = new Client(Integer.MAX_VALUE);

    arrive(lost.turn("KEYS *", "ECHO end"));

    RoundReplies last = lost.next();
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

  @Test
  void othersGetTheirRepliesBehindAConnectionThatCannotEvenBeClosed() throws Exception {
    Client lost = new Client(Integer.MAX_VALUE, /* takesReplies= */ false);
    Client other = new Client(Integer.MAX_VALUE);
    lost.channel.lacksMemory = true;

    arrive(lost.turn("PING"), other.turn("PING"));
    assertEquals("+PONG\r\n", replies(other.next()));
    arrive(lost.turn("PING"));
    assertTrue(lost.next().closing());

    Client third = new Client(Integer.MAX_VALUE, /* takesReplies= */ false);
    third.channel.lacksMemory = true;
    arrive(third.turn("INFO server"), other.turn("INFO server"));
    assertTrue(replies(other.next()).startsWith("$"));
    arrive(third.turn("INFO server"));
    assertTrue(third.next().closing());
  }

  @Test
  void aLoopWithoutMemoryForATaskSeesToWhatArrives() throws Exception {
    Client client = new Client(Integer.MAX_VALUE);

    for (int i = 0; i < 2; i++) {
      loop.execute(
          () -> {
            loop.isFull.set(true);
            lane.arrive(client.turn("PING"));
            lane.arrive(client.turn("ECHO a"));
          });
      assertEquals("+PONG\r\n", replies(client.next()));
      assertEquals("$1\r\na\r\n", replies(client.next()));
    }
  }

  @Test
  void whatCannotBeHandedOverClosesAllItWasFor() throws Exception {
    CountDownLatch closed = new CountDownLatch(1);
    reopen(
        work -> {
          loop.isFull.set(true);
          work.run();
        });
    Client lost = new Client(Integer.MAX_VALUE);
    Client other = new Client(Integer.MAX_VALUE);
    lost.channel.lacksMemory = true;
    other.channel.closeFuture().addListener(future -> closed.countDown());

    arrive(lost.turn("INFO server"), other.turn("INFO server", "KEYS *"));

    assertTrue(closed.await(60, TimeUnit.SECONDS));
    arrive(lost.turn("INFO server"));
    assertTrue(lost.next().closing());
  }

  @Test
  void givingARoundUpClosesAllThatCanBeClosed() throws Exception {
    Client lost = new Client(Integer.MAX_VALUE);
    Client other = new Client(Integer.MAX_VALUE);
    lost.channel.lacksMemory = true;
    CommandRound round = new CommandRound(server, lane, new ReadPace(), /* mayWait= */ true);
    long left = server.budget().left();

    round.begin();
    for (Client client : List.of(lost, other)) {
      client.session.inbox.addAll(client.requests(1000, "INCR a"));
      round.serve(client.session, 0);
    }
    // Not on this thread: a test that gets such an error ends the whole run.
    elsewhere.submit(round::giveUp).get();

    assertFalse(other.channel.isOpen());
    assertEquals(left, server.budget().left());
    round.begin();
    round.serve(lost.session, 0);
    List<RoundReplies> deliveries = round.end();
    assertEquals(1, deliveries.size());
    assertTrue(deliveries.get(0).closing());
    assertNull(store.get("a".getBytes(US_ASCII)));
  }

  @Test
  void anErrorBeforeAGroupIsCommittedIsAnsweredAndTheLaneGoesOn() throws Exception {
    AtomicBoolean isFull = new AtomicBoolean();
    Clock clock =
        new ManualClock(1_000_000_000_000L) {
          @Override
          public long millis() {
            if (isFull.getAndSet(false)) {
              throw new OutOfMemoryError("of this test");
            }
            return super.millis();
          }
        };
    server = new ServerState(store, RunningRedis.loopback().withClock(clock));
    reopen(Runnable::run);
    isFull.set(true);
    Client client = new Client(Integer.MAX_VALUE);
    client.channel.lacksMemory = true;

    arrive(client.turn("INCR a"));
    assertEquals("-ERR", replies(client.next()).substring(0, 4));
    arrive(client.turn("INCR a"));
    assertEquals(":1\r\n", replies(client.next()));
  }

  @Test
  void bytesOfCommandsThatThereIsNoRoomForAreGivenBack() throws Exception {
    Client lost = new Client(Integer.MAX_VALUE);
    Client unanswered = new Client(0);
    long left = server.budget().left();

    List<Request> requests = lost.requests(1000, "ECHO a", "ECHO b");
    arrive(new CommandExecutor.Turn(lost.session, new Unwieldy(requests), null));
    assertTrue(lost.next().closing());
    requests = unanswered.requests(1000, "ECHO a", "ECHO b");
    arrive(new CommandExecutor.Turn(unanswered.session, requests, null));
    assertTrue(unanswered.next().closing());

    assertEquals(left, server.budget().left());
  }

  @Test
  void aLongCommandWithoutAThreadEndsItsConnection() throws Exception {
    reopen(
        work -> {
          throw new OutOfMemoryError("of this test");
        });
    Client lost = new Client(Integer.MAX_VALUE);
    long left = server.budget().left();

    arrive(
        new CommandExecutor.Turn(
            lost.session, lost.requests(1000, "ECHO a", "KEYS *", "ECHO b"), null));

    RoundReplies last = lost.next();
    while (!last.closing()) {
      last = lost.next();
    }
    assertEquals(left, server.budget().left());
  }
}
