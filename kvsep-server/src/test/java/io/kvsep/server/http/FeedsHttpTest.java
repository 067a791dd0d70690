package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.Snapshot;
import io.kvsep.WriteBatch;
import io.kvsep.server.http.EventStream.Event;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class FeedsHttpTest {
  @TempDir static Path shared;
  private static Served served;

  @TempDir Path folder;

  @BeforeAll
  static void serve() {
    served = served(shared, limits -> limits.heartbeatMillis = 30);
  }

  @AfterAll
  static void close() {
    served.close();
  }

  private static Served served(Path folder, Consumer<LimitsHttpTest.Draft> change) {
    HttpLimits limits = LimitsHttpTest.with(change);
    return Served.at(folder, HttpOptions.builder().limits(limits).build());
  }

  /** What to ask for to get what is written from here on. */
  private static String now(Served served) {
    try (Snapshot now = served.store().snapshot()) {
      return Long.toString(now.sequence());
    }
  }

  private static EventStream feed(Served served, String target, String... headers)
      throws Exception {
    return EventStream.of(served.stream(target, headers));
  }

  @Test
  void eachKindOfChangeIsAnEventWithALineOfJson() throws Exception {
    KvStore store = served.store();
    String now = now(served);
    Keyspace space = store.keyspace("s");
    store.put(bytes("a"), bytes("1"));
    WriteBatch batch = new WriteBatch();
    batch.put(new byte[] {(byte) 0xff, 0}, new byte[0]).deleteRange(bytes("b"), bytes("d"));
    batch.in(space).put(bytes("\"\n"), bytes("2")).inDefault().delete(bytes("a"));
    store.write(batch);
    store.put(bytes("t"), bytes("3"), Duration.ofHours(1));
    store.sync();
    try (EventStream feed = feed(served, "/v1/changes?after=" + now)) {
      String own = "\"keyspaceId\":0,\"more\":";
      next(feed, "\"put\"," + own + "false,\"key\":\"a\",\"valueLength\":1,\"value\":\"MQ==\"");
      next(
          feed,
          "\"put\","
              + own
              + "true,\"key\":\"0xff00\",\"keyHex\":\"ff00\","
              + "\"valueLength\":0,\"value\":\"\"");
      next(feed, "\"deleteRange\"," + own + "true,\"from\":\"b\",\"to\":\"d\"");
      next(
          feed,
          "\"put\",\"keyspaceId\":"
              + space.id()
              + ",\"keyspace\":\"s\",\"more\":true,\"key\":\"\\\"\\u000a\","
              + "\"valueLength\":1,\"value\":\"Mg==\"");
      next(feed, "\"delete\"," + own + "false,\"key\":\"a\"");
      Map<String, Object> last = change(feed.next());
      long ends = ((Long) Objects.requireNonNull(last.get("expiresAtMillis"))).longValue();
      assertEquals(
          Objects.requireNonNull(store.info(bytes("t"))).expiresAtMillis().getAsLong(), ends);
    }
    try (EventStream feed = feed(served, "/v1/changes?keysOnly=true&after=" + now)) {
      Map<String, Object> first = change(feed.next());
      assertEquals(1L, first.get("valueLength"));
      assertFalse(first.containsKey("value"));
    }
  }

  private static void next(EventStream feed, String rest) throws Exception {
    String data = feed.next().data();
    assertEquals("{\"sequence\":" + feed.lastId() + ",\"kind\":" + rest + "}", data);
  }

  private static Map<String, Object> change(Event event) {
    assertEquals("", event.name(), event::data);
    Map<String, Object> change = event.json();
    ApiDocument.checkMembers("Change", change);
    return change;
  }

  @Test
  void aFeedBeginsNowUnlessItIsToldOtherwise() throws Exception {
    served.store().put(bytes("before"), bytes("1"));
    String begin;
    try (EventStream feed = feed(served, "/v1/changes")) {
      begin = feed.lastId();
    }
    served.put("/v1/keys/between", "2", "Kvsep-Durability", "sync").is(204);
    try (EventStream feed = feed(served, "/v1/changes", "Last-Event-ID", begin)) {
      assertEquals("between", change(feed.next()).get("key"));
      served.put("/v1/keys/later", "3", "Kvsep-Durability", "sync").is(204);
      assertEquals("later", change(feed.next()).get("key"));
    }
  }

  @Test
  void ofKeyspacesAndPrefixesTheRestIsLeftOut() throws Exception {
    KvStore store = served.store();
    String before = now(served);
    Keyspace space = store.keyspace("a/b");
    Keyspace other = store.keyspace("other");
    WriteBatch batch = new WriteBatch();
    batch.put(bytes("k0"), bytes("1"));
    batch.in(space).put(bytes("k1"), bytes("1")).put(bytes("x1"), bytes("1"));
    batch.put(bytes("k2"), bytes("1")).inDefault().put(bytes("k3"), bytes("1"));
    store.write(batch);
    store.in(other).put(bytes("k4"), bytes("1"));
    store.in(space).deleteRange(bytes("j"), bytes("ka"));
    store.in(space).deleteRange(bytes("l"), bytes("m"));
    store.in(space).deleteRange(bytes("a"), bytes("k"));
    store.in(space).delete(bytes("k5"));
    store.sync();
    try (EventStream feed =
        feed(served, "/v1/keyspaces/a%2Fb/changes?prefix64=aw&after=" + before)) {
      assertEquals("k1 true", keyAndMore(feed.next()));
      assertEquals("k2 false", keyAndMore(feed.next()));
      assertEquals("j false", keyAndMore(feed.next()));
      assertEquals("k5 false", keyAndMore(feed.next()));

      store.put(bytes("k6"), bytes("1"));
      store.sync();
      String now = now(served);
      while (!feed.lastId().equals(now)) {
        assertNull(feed.block(), "the place is told without an event");
      }
      store.dropKeyspace(space);
      store.sync();
      Map<String, Object> dropped = change(feed.next());
      assertEquals("", dropped.get("from"));
      assertFalse(dropped.containsKey("to"));
      feed.assertEnds();
    }
    served.get("/v1/keyspaces/a%2Fb/changes").isProblem(404, "no-such-keyspace");
  }

  private static String keyAndMore(Event event) {
    Map<String, Object> change = change(event);
    return change.getOrDefault("key", change.get("from")) + " " + change.get("more");
  }

  @Test
  void whatIsLostIsToldAndNeverAGap() throws Exception {
    KvStore store = served.store();
    String before = now(served);
    served.put("/v1/keys/a", "1", "Kvsep-Durability", "sync").is(204);
    String last;
    try (EventStream feed = feed(served, "/v1/changes?after=" + before)) {
      assertEquals("a", change(feed.next()).get("key"));
      last = feed.lastId();
      store.bulkLoad(List.of(Map.entry(bytes("b"), bytes("2"))).iterator());
      Event lost = feed.next();
      assertEquals("lost", lost.name());
      assertEquals("urn:kvsep:problem:changes-lost", lost.json().get("type"));
      assertEquals(last, feed.lastId());
      feed.assertEnds();
    }
    Served.Answer gone = served.get("/v1/changes?after=" + before, "Last-Event-ID", last);
    gone.isProblem(410, "changes-lost");
    served.put("/v1/keys/c", "3", "Kvsep-Durability", "sync").is(204);
    Object from = gone.json().get("lostSequence");
    try (EventStream feed = feed(served, "/v1/changes?after=" + from)) {
      assertEquals("c", change(feed.next()).get("key"));
    }
  }

  @Test
  void whatIsWrongWithARequestIsSaid() throws Exception {
    try (Served served = served(folder, limits -> limits.feeds = 1)) {
      for (String query :
          List.of("after=x", "after=-1", "after=1", "after=", "limit=1", "keysOnly=maybe")) {
        served.get("/v1/changes?" + query).isProblem(400, "malformed-request");
      }
      served.get("/v1/changes", "Last-Event-ID", "x").isProblem(400, "malformed-request");
      served.get("/v1/changes", "Last-Event-ID", "-1").isProblem(400, "malformed-request");
      served.get("/v1/changes", "Accept", "text/html").isProblem(406, "not-acceptable");
      served.get("/v1/keyspaces/none/changes").isProblem(404, "no-such-keyspace");
      try (EventStream feed = feed(served, "/v1/changes", "Accept", "text/event-stream")) {
        assertEquals("0", feed.lastId());
        served.get("/v1/changes").isProblem(503, "overloaded");
        assertTrue(served.get("/metrics").text().contains("kvsep_http_feeds_open 1.0"));
      }
      awaitNoFeeds(served);
      feed(served, "/v1/changes").close();
    }
  }

  private static void awaitNoFeeds(Served served) {
    Served.await(() -> served.get("/v1/stats").text().contains("\"openFeeds\":0,"));
  }

  @Test
  void onlyClientsThatAreGoneOrDoNotReadAreCutOff() throws Exception {
    try (Served served =
        served(
            folder,
            limits -> {
              limits.heartbeatMillis = 20;
              limits.requestMillis = 1_000;
              limits.idleMillis = 1_000;
            })) {
      try (EventStream silent = feed(served, "/v1/changes")) {
        // For longer than either limit.
        while (silent.comments() < 100) {
          assertNull(silent.block());
        }
        served.store().put(bytes("a"), bytes("1"));
        served.store().sync();
        assertEquals("a", change(silent.next()).get("key"));
      }
      fill(served.store());
      try (Socket slow = ask(served)) {
        assertEquals('H', slow.getInputStream().read());
        awaitNoFeeds(served);
      }
      ask(served).close();
      awaitNoFeeds(served);
    }
  }

  /** More than sockets hold. */
  private static void fill(KvStore store) {
    byte[] value = new byte[1 << 20];
    new Random(5).nextBytes(value);
    for (int i = 0; i < 25; i++) {
      store.put(bytes("k" + i), value);
    }
    store.sync();
  }

  private static Socket ask(Served served) throws Exception {
    Socket socket = served.socket();
    socket
        .getOutputStream()
        .write("GET /v1/changes?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(UTF_8));
    return socket;
  }

  @Test
  void aStopEndsFeeds() throws Exception {
    try (Served served = Served.at(folder)) {
      fill(served.store());
      long last = Long.parseLong(now(served));
      try (Socket slow = ask(served);
          EventStream silent = feed(served, "/v1/changes?after=" + (last - 1))) {
        assertEquals('H', slow.getInputStream().read());
        assertEquals("k24", change(silent.next()).get("key"));

        served.front().close();

        silent.assertEnds();
        assertEquals(Long.toString(last), silent.lastId());
      }
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
