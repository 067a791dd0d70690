package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Parts of values: they can be read, and never take the place of the whole. */
final class RangesHttpTest extends SharedServer {
  private static final List<String> UPLOADS =
      List.of(
          "PUT /v1/keys/k",
          "PUT /v1/keys64/aw",
          "PUT /v1/keyspaces/s/keys/k",
          "PUT /v1/keyspaces/s/keys64/aw",
          "POST /v1/batch",
          "POST /v1/transaction",
          "POST /v1/increment",
          "POST /v1/admin/checkpoint");

  private static Served.Answer upload(String what, String... headers) {
    String[] words = what.split(" ", -1);
    return served.send(served.request(words[0], words[1], "{}".getBytes(UTF_8), headers));
  }

  @Test
  void aPartOfABodyIsRefusedWhereverOneIsTaken() {
    served.put("/v1/keyspaces/s", "").is(201);
    served.put("/v1/keys/k", "0123456789").is(204);
    for (String what : UPLOADS) {
      upload(what, "Content-Range", "bytes 5-6/10").isProblem(400, "malformed-request");
      upload(what, "Content-Range", "").isProblem(400, "malformed-request");
    }
    assertEquals("0123456789", served.get("/v1/keys/k").text());
    assertNull(served.store().in(served.store().keyspace("s")).get("k".getBytes(UTF_8)));
  }

  @Test
  void aBodyOfAnEncodingIsRefusedWhereverOneIsTaken() {
    served.put("/v1/keyspaces/s", "").is(201);
    for (String what : UPLOADS) {
      for (String encoding : List.of("gzip", "identity, gzip", "br", "")) {
        Served.Answer answer = upload(what, "Content-Encoding", encoding);
        answer.isProblem(415, "unsupported-encoding");
        assertEquals("identity", answer.header("accept-encoding"));
      }
    }
    served.get("/v1/keys/k").is(404);
    served.put("/v1/keys/k", "v", "Content-Encoding", "Identity").is(204);
    assertEquals("v", served.get("/v1/keys/k").text());
  }

  @Test
  void aRangeBringsThatPartOfAValue() {
    String tag = served.put("/v1/keys/k", "0123456789").is(204).header("etag");

    assertPart("bytes=5-", "bytes 5-9/10", "56789");
    assertPart("bytes=0-0", "bytes 0-0/10", "0");
    assertPart("bytes=2-4", "bytes 2-4/10", "234");
    assertPart("Bytes= 8-99 ", "bytes 8-9/10", "89");
    assertPart("bytes=0-999999999999999999", "bytes 0-9/10", "0123456789");
    assertPart("bytes=-3", "bytes 7-9/10", "789");
    assertPart("bytes=-99", "bytes 0-9/10", "0123456789");
    Served.Answer part = served.get("/v1/keys/k", "Range", "bytes=5-").is(206);
    assertEquals(tag, part.header("etag"));
    assertEquals("bytes", part.header("accept-ranges"));
    assertEquals("application/octet-stream", part.header("content-type"));
  }

  private static void assertPart(String range, String contentRange, String text) {
    Served.Answer answer = served.get("/v1/keys/k", "Range", range).is(206);
    assertEquals(contentRange, answer.header("content-range"));
    assertEquals(text.length() + "", answer.header("content-length"));
    assertEquals(text, answer.text());
  }

  @Test
  void whatIsNoSingleRangeOfBytesBringsAll() {
    served.put("/v1/keys/k", "0123456789").is(204);
    for (String range :
        List.of(
            "bytes=5-4",
            "bytes=-",
            "bytes=",
            "bytes=a-b",
            "bytes=0-1,3-4",
            "lines=0-1",
            "bytes=0-1000000000000000000",
            "5-")) {
      Served.Answer answer = served.get("/v1/keys/k", "Range", range).is(200);
      assertEquals("0123456789", answer.text(), range);
      assertEquals("", answer.header("content-range"));
    }
  }

  @Test
  void aRangeBehindTheEndIsNotSatisfiable() {
    served.put("/v1/keys/k", "0123456789").is(204);
    served.put("/v1/keys/empty", new byte[0]).is(204);
    served.put("/v1/keys/long", new byte[200_000]).is(204);
    for (String range : List.of("bytes=10-", "bytes=10-20", "bytes=-0")) {
      Served.Answer answer = served.get("/v1/keys/k", "Range", range);
      answer.isProblem(416, "range-not-satisfiable");
      assertEquals("bytes */10", answer.header("content-range"));
    }
    for (String range : List.of("bytes=0-", "bytes=-1")) {
      Served.Answer answer = served.get("/v1/keys/empty", "Range", range);
      answer.isProblem(416, "range-not-satisfiable");
      assertEquals("bytes */0", answer.header("content-range"));
    }
    Served.Answer answer = served.get("/v1/keys/long", "Range", "bytes=200000-");
    answer.isProblem(416, "range-not-satisfiable");
    assertEquals("bytes */200000", answer.header("content-range"));
    served.get("/v1/keys/none", "Range", "bytes=0-").isProblem(404, "no-such-key");
  }

  @Test
  void headTellsThatThereAreRangesAndKnowsNone() {
    served.put("/v1/keys/k", "0123456789").is(204);
    Served.Answer head = served.head("/v1/keys/k", "Range", "bytes=5-").is(200);
    assertEquals("bytes", head.header("accept-ranges"));
    assertEquals("10", head.header("content-length"));
    assertEquals("bytes", served.get("/v1/keys/k").is(200).header("accept-ranges"));
  }

  @Test
  void aConditionGoesBeforeARange() {
    String tag = served.put("/v1/keys/k", "0123456789").is(204).header("etag");
    served.get("/v1/keys/k", "Range", "bytes=5-", "If-None-Match", tag).is(304);
    served.get("/v1/keys/k", "Range", "bytes=99-", "If-None-Match", tag).is(304);
    served.get("/v1/keys/k", "Range", "bytes=5-", "If-Match", "\"x\"").is(412);
    assertEquals(
        "56789", served.get("/v1/keys/k", "Range", "bytes=5-", "If-Match", tag).is(206).text());
  }

  @Test
  void ifRangeBringsAllOfAnotherVersion() {
    String first = served.put("/v1/keys/k", "0123456789").is(204).header("etag");
    assertEquals(
        "56789", served.get("/v1/keys/k", "Range", "bytes=5-", "If-Range", first).is(206).text());
    served.put("/v1/keys/k", "abcdefghij").is(204);
    for (String other : List.of(first, "W/" + first, "Sat, 28 Nov 2026 19:00:00 GMT", "*", "")) {
      Served.Answer all = served.get("/v1/keys/k", "Range", "bytes=5-", "If-Range", other);
      assertEquals("abcdefghij", all.is(200).text());
      all = served.get("/v1/keys/k", "Range", "bytes=50-", "If-Range", other);
      assertEquals("abcdefghij", all.is(200).text());
    }
  }

  /** Of a value that goes out in pieces, and of one that is unpacked for that. */
  @Test
  void aDownloadThatBrokeOffGoesOnWhereItStopped() throws Exception {
    byte[] value = new byte[3 << 20];
    new Random(11).nextBytes(value);
    byte[] repeated = "so that it is compressed ".repeat(20_000).getBytes(US_ASCII);
    for (byte[] whole : List.of(value, repeated)) {
      served.put("/v1/keys/long", whole).is(204);
      byte[] begun;
      String tag;
      var response = served.stream("/v1/keys/long");
      tag = response.headers().firstValue("etag").orElseThrow();
      try (InputStream input = response.body()) {
        begun = input.readNBytes(200_001);
      }
      Served.Answer rest =
          served.get("/v1/keys/long", "Range", "bytes=" + begun.length + "-", "If-Range", tag);
      assertEquals(
          "bytes " + begun.length + "-" + (whole.length - 1) + "/" + whole.length,
          rest.is(206).header("content-range"));
      byte[] joined = Arrays.copyOf(begun, whole.length);
      System.arraycopy(rest.bytes(), 0, joined, begun.length, rest.bytes().length);
      assertArrayEquals(whole, joined);

      byte[] few = served.get("/v1/keys/long", "Range", "bytes=300000-300009").is(206).bytes();
      assertArrayEquals(Arrays.copyOfRange(whole, 300_000, 300_010), few);
    }
    Served.await(() -> served.store().stats().openCursors() == 0);
    assertTrue(served.get("/v1/stats").text().contains("\"bodyBytes\":0,"));
  }
}
