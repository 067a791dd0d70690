package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.kvsep.KvCursor;
import io.kvsep.WriteBatch;
import io.kvsep.server.json.JsonText;
import java.io.DataInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class ScansHttpTest extends SharedServer {
  private static final String BINARY = "application/vnd.kvsep.entries";

  @Test
  void linesAreThoseOfTheCommandLine() {
    served.store().put(bytes("a"), bytes("one"));
    served.store().put(new byte[] {(byte) 0xff}, bytes("two"), Duration.ofHours(1));

    List<String> lines = served.get("/v1/scan").is(200).text().lines().toList();

    assertEquals("{\"key\":\"a\",\"valueLength\":3,\"value\":\"b25l\"}", lines.get(0));
    Map<String, Object> second = JsonText.object(lines.get(1));
    assertEquals("ff", second.get("keyHex"));
    assertTrue(second.containsKey("expiresAtMillis"));
    assertEquals(2, lines.size());
  }

  @Test
  void boundsOrderAndKeysOnly() {
    fill(served, 20);
    assertEquals(10, keys(served, "prefix=k1").size());
    assertEquals(List.of("k03", "k04"), keys(served, "from=k03&to=k05"));
    assertEquals(List.of("k04", "k03"), keys(served, "from64=azAz&to=k05&reverse=true"));
    assertEquals(List.of("k19"), keys(served, "prefix64=azE&reverse=true&limit=1"));
    String bare = served.get("/v1/scan?keysOnly=true&to=k01").is(200).text();
    assertEquals("{\"key\":\"k00\",\"valueLength\":3}\n", bare);
    served.put("/v1/keyspaces/s", "").is(201);
    assertEquals("", served.get("/v1/keyspaces/s/scan").is(200).text());
    served.get("/v1/keyspaces/none/scan").isProblem(404, "no-such-keyspace");
  }

  @Test
  void whatIsWrongWithAQuestionIsSaid() {
    for (String query :
        List.of(
            "limit=0",
            "limit=x",
            "limit=-1",
            "reverse=maybe",
            "nothing=1",
            "from=a&from=b",
            "prefix=a&to=b",
            "from=a&from64=YQ",
            "from64=*",
            "cursor=*",
            "cursor=")) {
      served.get("/v1/scan?" + query).isProblem(400, "malformed-request");
    }
    served.get("/v1/scan", "Accept", "text/html").isProblem(406, "not-acceptable");
  }

  @Test
  void cursorsGoOnWhereAnAnswerEnded() {
    fill(served, 25);
    for (String order : List.of("", "&reverse=true", "&keysOnly=true", "&prefix=k")) {
      List<String> all = new ArrayList<>();
      String cursor = "";
      int answers = 0;
      do {
        String text = served.get("/v1/scan?limit=10" + order + cursor).is(200).text();
        List<Map<String, Object>> lines = text.lines().map(JsonText::object).toList();
        lines.stream()
            .filter(line -> line.containsKey("key"))
            .forEach(line -> all.add((String) line.get("key")));
        Object next = lines.get(lines.size() - 1).get("cursor");
        cursor = next == null ? "" : "&cursor=" + next;
        answers++;
      } while (!cursor.isEmpty());

      List<String> expected = new ArrayList<>();
      for (int i = 0; i < 25; i++) {
        expected.add(key(i));
      }
      if (order.contains("reverse")) {
        Collections.reverse(expected);
      }
      assertEquals(expected, all);
      assertEquals(3, answers);
    }
  }

  @Test
  void binaryIsWhatImportTakesAndEndsWithTheCursor() throws Exception {
    byte[] value = new byte[300_000];
    new Random(3).nextBytes(value);
    served.store().put(bytes("a"), value);
    served.store().put(bytes("b"), new byte[0]);
    served.store().put(bytes("c"), bytes("x"));
    DataInputStream entries =
        new DataInputStream(served.stream("/v1/scan?limit=2", "Accept", BINARY).body());

    assertEquals("a", entry(entries, value));
    assertEquals("b", entry(entries, new byte[0]));
    assertEquals(0, entries.readInt());
    String cursor = new String(entries.readNBytes(entries.readInt()), UTF_8);
    assertEquals(-1, entries.read());

    byte[] rest = served.get("/v1/scan?cursor=" + cursor, "Accept", BINARY).is(200).bytes();
    assertArrayEquals(new byte[] {0, 0, 0, 1, 0, 0, 0, 1, 'c', 'x'}, rest);
  }

  /** 60 MB at a client that reads a little: what is made meanwhile has to stay small. */
  @Test
  void aSlowClientFillsNoMemoryAndLeavingClosesTheCursor() throws Exception {
    byte[] value = new byte[1 << 20];
    new Random(4).nextBytes(value);
    for (int i = 0; i < 60; i++) {
      served.store().put(bytes(key(i)), value);
    }
    Runtime runtime = Runtime.getRuntime();
    System.gc();
    long before = runtime.totalMemory() - runtime.freeMemory();
    try (Socket slow = served.socket()) {
      OutputStream output = slow.getOutputStream();
      output.write("GET /v1/scan HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(UTF_8));
      assertEquals('H', slow.getInputStream().read());
      assertEquals(1, served.store().stats().openCursors());
      System.gc();
      long held = runtime.totalMemory() - runtime.freeMemory() - before;
      assertTrue(held < 30 << 20, held + " bytes");
    }
    Served.await(() -> served.store().stats().openCursors() == 0);

    long length;
    try (InputStream all = served.stream("/v1/scan").body()) {
      length = all.transferTo(OutputStream.nullOutputStream());
    }
    assertTrue(length > 80_000_000, length + "");
  }

  @Test
  void anAnswerThatTakesTooLongEndsWithACursor() {
    HttpLimits limits = LimitsHttpTest.with(limit -> limit.scanMillis = 1);
    HttpOptions options = HttpOptions.builder().limits(limits).build();
    try (Served served = Served.at(folder.resolve("own"), options)) {
      fill(served, 20_000);
      int count = 0;
      int answers = 0;
      String cursor = "";
      do {
        String text = served.get("/v1/scan?keysOnly=true" + cursor).is(200).text();
        String last = text.lines().reduce((a, b) -> b).orElseThrow();
        boolean isOver = !last.startsWith("{\"cursor\"");
        count += (int) text.lines().count() - (isOver ? 0 : 1);
        cursor = isOver ? "" : "&cursor=" + JsonText.object(last).get("cursor");
        answers++;
      } while (!cursor.isEmpty());

      assertEquals(20_000, count);
      assertTrue(answers > 1);
    }
  }

  @Test
  void eachPieceHasTheTimeToBeTaken() {
    served.store().put(bytes("long"), new byte[1 << 20]);
    ServiceRequestContext context =
        ServiceRequestContext.of(HttpRequest.of(HttpMethod.GET, "/v1/scan"));
    HttpLimits limits = LimitsHttpTest.with(limit -> limit.requestMillis = 20_000);
    KvCursor cursor = served.store().cursor();
    ScanPieces pieces =
        new ScanPieces(
            context,
            limits,
            new AdmissionControl(limits),
            cursor,
            Long.MAX_VALUE,
            false,
            false,
            context.blockingTaskExecutor());
    int count = 0;
    try (StreamedAnswer.Source lines = pieces.lines()) {
      context.clearRequestTimeout();
      HttpData piece = lines.next();
      while (piece != null) {
        piece.close();
        count++;
        assertTrue(context.requestTimeoutMillis() >= 20_000);
        context.clearRequestTimeout();
        piece = lines.next();
      }
    }
    assertTrue(count > 10);
  }

  private static void fill(Served served, int count) {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < count; i++) {
      batch.put(bytes(key(i)), bytes("val"));
    }
    served.store().write(batch);
  }

  private static String key(int i) {
    return String.format(Locale.ROOT, "k%02d", i);
  }

  private static List<String> keys(Served served, String query) {
    return served
        .get("/v1/scan?" + query)
        .is(200)
        .text()
        .lines()
        .map(JsonText::object)
        .filter(line -> line.containsKey("key"))
        .map(line -> (String) line.get("key"))
        .toList();
  }

  private static String entry(DataInputStream entries, byte[] value) throws Exception {
    int keyLength = entries.readInt();
    int valueLength = entries.readInt();
    String key = new String(entries.readNBytes(keyLength), UTF_8);
    assertArrayEquals(value, entries.readNBytes(valueLength));
    return key;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
