package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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

  /** Writes of long values become one group, which is cut behind the first of them. */
  @Test
  void whoGotNothingInARoundComesFirstInTheNext() throws Exception {
    EmbeddedChannel channel = new EmbeddedChannel();
    try (KvStore store = KvStore.open(directory)) {
      store.put("long".getBytes(US_ASCII), new byte[5 << 20]);
      ServerState server = new ServerState(store, RunningRedis.loopback());
      UnpooledByteBufAllocator allocator = UnpooledByteBufAllocator.DEFAULT;
      CommandExecutor lane =
          new CommandExecutor(server, channel.eventLoop(), Runnable::run, allocator, "test");
      CommandRound round = new CommandRound(server, lane, new ReadPace(), /* mayWait= */ true);
      List<Session> sessions = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        sessions.add(new Session(i, channel, lane.newReplies(), delivery -> {}, 0));
        sessions.get(i).trusted = true;
      }
      Session busy = sessions.get(0);
      Session other = sessions.get(1);
      for (int i = 0; i < 3; i++) {
        busy.inbox.add(request(server, "APPEND", "long", "x"));
      }
      other.inbox.add(request(server, "INCR", "n"));

      assertEquals(List.of(other, busy), served(round, sessions));
      assertEquals(List.of(2, 1), List.of(busy.inbox.size(), other.inbox.size()));
      assertEquals(List.of(other, busy), served(round, List.of(other, busy)));
      assertEquals(List.of(1, 0), List.of(busy.inbox.size(), other.inbox.size()));

      lane.stop();
      assertTrue(lane.awaitStop(60_000));
    } finally {
      channel.finish();
    }
  }

  private static Request request(ServerState server, String... words) {
    byte[][] arguments =
        Arrays.stream(words).map(word -> word.getBytes(US_ASCII)).toArray(byte[][]::new);
    return Request.of(arguments, server.commands().find(arguments[0]), 20, 0);
  }

  /** One round; in which order it is delivered. */
  private static List<Session> served(CommandRound round, List<Session> sessions) {
    round.begin();
    sessions.forEach(session -> round.serve(session, 0));
    List<RoundReplies> deliveries = round.end();
    deliveries.forEach(delivery -> delivery.replies().release());
    return deliveries.stream().map(RoundReplies::session).toList();
  }

  private static void fill(RunningRedis redis) throws IOException {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < 10_000; i++) {
      batch.put(("a key of some length " + i).getBytes(US_ASCII), new byte[1]);
    }
    redis.store.write(batch);
  }
}
