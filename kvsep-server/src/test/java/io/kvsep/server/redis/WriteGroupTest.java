package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.Transaction;
import io.kvsep.error.ConflictException;
import io.kvsep.testing.ManualClock;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands of a store in which another writer is always first. */
final class WriteGroupTest {
  private static final String LOST = "-ERR others changed the same keys all the time\r\n";

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(1_000_000_000_000L);
  private final EmbeddedChannel channel = new EmbeddedChannel();
  private KvStore store;
  private ServerState server;
  private CommandExecutor lane;
  private WriteGroup group;

  private int commits;

  /** So many of them, from the first on, meet a conflict. */
  private int commitsInVain = Integer.MAX_VALUE;

  /** What each of them takes. */
  private long millisEach;

  @BeforeEach
  void open() {
    store = KvStore.open(directory);
    server = new ServerState(contended(), RunningRedis.loopback().withClock(clock));
    lane =
        new CommandExecutor(
            server, channel.eventLoop(), Runnable::run, UnpooledByteBufAllocator.DEFAULT, "test");
    group = new WriteGroup(server, null, 0);
  }

  @AfterEach
  void close() throws InterruptedException {
    lane.stop();
    assertTrue(lane.awaitStop(60_000));
    channel.finish();
    store.close();
  }

  private KvStore contended() {
    return proxy(KvStore.class, store, "begin", "");
  }

  private void commit() {
    clock.advance(millisEach);
    if (++commits <= commitsInVain) {
      throw new ConflictException("another writer was faster");
    }
  }

  /** Passes calls on; those of one name have their result wrapped, those of another are commits. */
  private <T> T proxy(Class<T> type, Object target, String begin, String commit) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> {
              if (method.getName().equals(commit)) {
                commit();
              }
              try {
                return method.getName().equals(begin)
                    ? proxy(Transaction.class, method.invoke(target, arguments), "", "commit")
                    : method.invoke(target, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }

  private Session session() {
    return new Session(1, channel, lane.newReplies(), delivery -> {}, clock.millis());
  }

  private void increment(Session session) {
    add(session, request("INCR", "n"));
  }

  private void add(Session session, Request request) {
    group.add(session, Objects.requireNonNull(request.command), request);
  }

  private Request request(String... words) {
    byte[][] arguments = Arrays.stream(words).map(WriteGroupTest::bytes).toArray(byte[][]::new);
    return Request.of(arguments, server.commands().find(arguments[0]), 5, 0);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  private static String replies(Session session) {
    ByteBuf replies = session.replies.take();
    try {
      return replies.toString(US_ASCII);
    } finally {
      replies.release();
    }
  }

  @Test
  void commandsThatAlwaysLoseAreToldSoWhenTheirTimeIsOver() {
    millisEach = WriteGroup.RETRY_MILLIS_MAX / 10;
    Session first = session();
    Session second = session();
    increment(first);
    increment(second);

    assertTrue(group.commit());

    assertEquals(LOST, replies(first));
    assertEquals(LOST, replies(second));
    assertTrue(commits >= 10 && commits < 30, () -> commits + " tries");
  }

  @Test
  void commandsOfThoseWhoDoNotLoseAreCarriedOutAfterThatTime() {
    millisEach = WriteGroup.RETRY_MILLIS_MAX / 10;
    commitsInVain = 12;
    Session first = session();
    Session second = session();
    increment(first);
    increment(second);

    assertTrue(group.commit());

    assertEquals(":1\r\n", replies(first));
    assertEquals(":2\r\n", replies(second));
  }

  @Test
  void nothingIsTriedForClientsThatHaveLeft() {
    Session left = session();
    left.gone = true;
    Session other = session();
    increment(left);
    increment(left);
    assertTrue(group.commit());
    int tries = commits;
    assertTrue(tries < 20, () -> tries + " tries");

    commitsInVain = tries + 20;
    increment(left);
    increment(other);
    assertTrue(group.commit());

    assertEquals(LOST + LOST + ":1\r\n", replies(left));
    assertEquals(":2\r\n", replies(other));
    assertFalse(server.commits().isWriteLocked());
  }

  @Test
  void aTransactionWhoseClientHasGoneWritesNothing() {
    commitsInVain = 0;
    Session left = session();
    left.queue = new ArrayList<>(List.of(request("SET", "m", "1"), request("SCAN", "0")));
    left.gone = true;
    Session other = session();
    add(left, request("EXEC"));
    increment(other);

    assertTrue(group.commit());

    assertNull(store.get(bytes("m")));
    assertNull(left.queue);
    assertEquals(":1\r\n", replies(other));
    assertEquals("-ERR the client has gone\r\n", replies(left));
  }
}
