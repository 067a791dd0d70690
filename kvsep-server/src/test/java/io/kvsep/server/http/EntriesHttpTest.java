package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class EntriesHttpTest extends SharedServer {
  @Test
  void keysOfManyBytesGoByPercentEncodedPath() {
    for (String hex :
        List.of(
            "61",
            "612f62",
            "2f",
            "2f2f61",
            "25",
            "3f",
            "23",
            "3b61",
            "612e2e62",
            "ff",
            "c3a4",
            "2b",
            "20",
            "612f2e2f62",
            "5c",
            "227b7d",
            "807e")) {
      byte[] key = HexFormat.of().parseHex(hex);
      String encoded = "%" + HexFormat.ofDelimiter("%").formatHex(key);

      served.put("/v1/keys/" + encoded, "v" + hex).is(204);

      assertArrayEquals(("v" + hex).getBytes(UTF_8), served.store().get(key));
      assertEquals("v" + hex, served.get("/v1/keys/" + encoded).is(200).text());
      served.delete("/v1/keys/" + encoded).is(204);
      assertNull(served.store().get(key));
      served.get("/v1/keys/" + encoded).isProblem(404, "no-such-key");
    }
  }

  @Test
  void allBytesGoByBase64() {
    byte[] key = new byte[300];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) i;
    }
    String encoded = Base64.getUrlEncoder().withoutPadding().encodeToString(key);

    served.put("/v1/keys64/" + encoded, "all").is(204);

    assertEquals("all", served.get("/v1/keys64/" + encoded).is(200).text());
    assertArrayEquals("all".getBytes(UTF_8), served.store().get(key));
    served.get("/v1/keys64/***").isProblem(400, "malformed-request");
  }

  @Test
  void whatNoPathCanHoldIsRefusedAndToldWhereItGoes() {
    for (String path : List.of("%00", "a%0ab", "a/../b", "a%2f..%2fb", "a%0d%0aSet-Cookie:x")) {
      Served.Answer answer = served.put("/v1/keys/" + path, "x");
      answer.is(400);
      assertTrue(answer.text().contains("keys64"), answer.text());
    }
    try (KvCursor cursor = served.store().cursor()) {
      assertFalse(cursor.next());
    }
  }

  /** Else a question mark that is not encoded would lead to a key of another name. */
  @Test
  void aQueryBehindAKeyIsRefused() {
    served.put("/v1/keyspaces/s", "").is(201);
    served.put("/v1/keys/a", "kept").is(204);
    served.put("/v1/keyspaces/s/keys/a", "kept").is(204);
    for (String key :
        List.of("/v1/keys/a", "/v1/keys64/YQ", "/v1/keyspaces/s/keys/a", "/v1/keyspaces/s")) {
      for (String query : List.of("?x=1", "?b", "?b=")) {
        if (!key.endsWith("s")) {
          served.get(key + query).isProblem(400, "malformed-request");
          served.head(key + query).is(400);
        }
        served.put(key + query, "x").isProblem(400, "malformed-request");
        served.delete(key + query).isProblem(400, "malformed-request");
      }
    }
    assertTrue(served.put("/v1/keys/a?b", "x").text().contains("%3F"));
    assertEquals("kept", served.get("/v1/keys/a").is(200).text());
    assertEquals("kept", served.get("/v1/keyspaces/s/keys/a").is(200).text());
  }

  @Test
  void aSlashInAPathIsPartOfTheKey() {
    served.put("/v1/keys/a/b;c=d//e", "x").is(204);

    assertArrayEquals("x".getBytes(UTF_8), served.store().get("a/b;c=d//e".getBytes(UTF_8)));
  }

  @Test
  void theLongestKeyWorksAndOneByteMoreIsTooLong() throws Exception {
    String longest = "%ff".repeat(65_535);

    served.put("/v1/keys/" + longest, "x").is(204);

    assertEquals("x", served.get("/v1/keys/" + longest).is(200).text());
    served.get("/v1/keys/" + longest + "a").isProblem(413, "limit-exceeded");
    served.get("/v1/keys/").isProblem(400, "malformed-request");
    String bad =
        served.raw(
            "GET /v1/keys/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: " + "close\r\n\r\n");
    assertTrue(bad.startsWith("HTTP/1.1 400 ") && bad.contains("malformed-request"), bad);
  }

  @Test
  void headTellsLengthAndVersionWithoutTheValue() {
    served.put("/v1/keys/k", "twelve bytes").is(204);
    served.put("/v1/keys/empty", new byte[0]).is(204);

    Served.Answer head = served.head("/v1/keys/k").is(200);
    assertEquals("12", head.header("content-length"));
    assertEquals(served.get("/v1/keys/k").header("etag"), head.header("etag"));
    assertEquals("0", served.get("/v1/keys/empty").is(200).header("content-length"));
    served.head("/v1/keys/none").isProblem(404, "no-such-key");
  }

  @Test
  void timesToLiveAreSetAndShown() {
    long before = System.currentTimeMillis();
    served.put("/v1/keys/k", "v", "Kvsep-Ttl-Millis", "60000").is(204);

    long ends = Long.parseLong(served.get("/v1/keys/k").header("kvsep-expires-at-millis"));
    assertTrue(ends >= before + 60_000 && ends <= System.currentTimeMillis() + 60_000);
    served.put("/v1/keys/k", "v").is(204);
    assertEquals("", served.get("/v1/keys/k").header("kvsep-expires-at-millis"));
    for (String wrong : List.of("0", "-1", "x", "9999999999999999999")) {
      served.put("/v1/keys/k", "v", "Kvsep-Ttl-Millis", wrong).isProblem(400, "malformed-request");
    }
    served.put("/v1/keys/k", "v", "Kvsep-Durability", "maybe").isProblem(400, "malformed-request");
    long syncs = served.store().stats().syncs();
    served.put("/v1/keys/k", "v", "Kvsep-Durability", "sync").is(204);
    assertTrue(served.store().stats().syncs() > syncs);
  }

  @Test
  void aVersionMakesReadsAndWritesConditional() {
    String first = served.put("/v1/keys/k", "one", "If-None-Match", "*").is(201).header("etag");
    assertEquals(first, served.get("/v1/keys/k").header("etag"));
    served.put("/v1/keys/k", "x", "If-None-Match", "*").isProblem(412, "precondition-failed");
    served.get("/v1/keys/k", "If-None-Match", first).is(304);
    served.head("/v1/keys/k", "If-None-Match", "\"x\", W/" + first).is(304);
    served.get("/v1/keys/k", "If-Match", "\"x\"").isProblem(412, "precondition-failed");

    String second = served.put("/v1/keys/k", "two", "If-Match", first).is(204).header("etag");
    Served.Answer lost = served.put("/v1/keys/k", "three", "If-Match", first);
    lost.isProblem(412, "precondition-failed");
    assertEquals(second, lost.header("etag"));
    served.put("/v1/keys/k", "x", "If-Match", "W/" + second).isProblem(412, "precondition-failed");
    for (String same : List.of("W/" + second, "\"x\", W/" + second)) {
      served.put("/v1/keys/k", "x", "If-None-Match", same).isProblem(412, "precondition-failed");
      served.delete("/v1/keys/k", "If-None-Match", same).isProblem(412, "precondition-failed");
    }
    assertEquals("two", served.get("/v1/keys/k").text());

    served.delete("/v1/keys/k", "If-Match", first).isProblem(412, "precondition-failed");
    served.delete("/v1/keys/k", "If-Match", "\"a\", " + second).is(204);
    served.delete("/v1/keys/k", "If-Match", "*").isProblem(412, "precondition-failed");
    served.put("/v1/keys/k", "x", "If-Match", "*").isProblem(412, "precondition-failed");
    served.get("/v1/keys/k", "If-Match", "*").isProblem(412, "precondition-failed");
    served.get("/v1/keys/k", "If-None-Match", "*").isProblem(404, "no-such-key");
    for (String wrong : List.of("x", "\"x", "", ",")) {
      served.put("/v1/keys/k", "x", "If-Match", wrong).isProblem(400, "malformed-request");
    }
  }

  @Test
  void everyWriteIsANewVersionAndTellsItsTag() {
    List<String> tags = new ArrayList<>();
    tags.add(served.put("/v1/keys/k", "same").is(204).header("etag"));
    tags.add(served.put("/v1/keys/k", "same").is(204).header("etag"));
    tags.add(served.put("/v1/keys/k", "same", "Kvsep-Ttl-Millis", "60000").is(204).header("etag"));
    tags.add(served.put("/v1/keys/k", "same", "If-Match", tags.get(2)).is(204).header("etag"));
    served.store().put("k".getBytes(UTF_8), "same".getBytes(UTF_8));
    tags.add(served.get("/v1/keys/k").is(200).header("etag"));
    assertEquals(tags.size(), new HashSet<>(tags).size(), tags::toString);
    for (String tag : tags) {
      boolean isLast = tag.equals(tags.get(tags.size() - 1));
      served.get("/v1/keys/k", "If-None-Match", tag).is(isLast ? 304 : 200);
    }

    served.put("/v1/keys/other", "x").is(204);
    served.store().compact();

    assertEquals(tags.get(tags.size() - 1), served.head("/v1/keys/k").header("etag"));
    assertEquals(tags.get(tags.size() - 1), served.get("/v1/keys/k").header("etag"));
    assertEquals(
        tags.get(tags.size() - 1),
        served.put("/v1/keys/k", "x", "If-None-Match", "*").is(412).header("etag"));
  }

  @Test
  void aTagOfADroppedKeyspaceDoesNotMatchInANewOneOfItsName() {
    served.put("/v1/keyspaces/s", "").is(201);
    String tag = served.put("/v1/keyspaces/s/keys/k", "x").is(204).header("etag");
    served.delete("/v1/keyspaces/s").is(204);
    served.put("/v1/keyspaces/s", "").is(201);

    String later = served.put("/v1/keyspaces/s/keys/k", "y").is(204).header("etag");

    assertNotEquals(tag, later);
    served
        .put("/v1/keyspaces/s/keys/k", "z", "If-Match", tag)
        .isProblem(412, "precondition-failed");
  }

  /** A store and its copy go on from one version; both count the next write alike. */
  @Test
  void aTagOfAnotherStoreOrOfEarlierDoesNotMatch(@TempDir Path copies) {
    served.put("/v1/keys/k", "common").is(204);
    served.store().checkpoint(copies.resolve("copy"));
    String here = served.put("/v1/keys/k", "here").is(204).header("etag");
    String there;
    try (Served copy = Served.at(copies.resolve("copy"))) {
      there = copy.put("/v1/keys/k", "there").is(204).header("etag");
      assertEquals(version(here), version(there));

      copy.put("/v1/keys/k", "lost", "If-Match", here).isProblem(412, "precondition-failed");
      copy.get("/v1/keys/k", "If-None-Match", here).is(200);
      served.put("/v1/keys/k", "lost", "If-Match", there).isProblem(412, "precondition-failed");
    }
    try (Served copy = Served.at(copies.resolve("copy"))) {
      copy.put("/v1/keys/k", "x", "If-Match", there).isProblem(412, "precondition-failed");
      String now = copy.get("/v1/keys/k").header("etag");
      assertEquals(version(there), version(now));
      copy.put("/v1/keys/k", "x", "If-Match", now).is(204);
    }
  }

  private static String version(String tag) {
    return tag.substring(0, tag.indexOf('-'));
  }

  @Test
  void ofManyClientsWithOneVersionExactlyOneWins() throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(8);
    try {
      String version = served.put("/v1/keys/k", "0").is(204).header("etag");
      for (int round = 1; round <= 10; round++) {
        List<Future<Served.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          String value = round + "/" + i;
          String known = version;
          answers.add(clients.submit(() -> served.put("/v1/keys/k", value, "If-Match", known)));
        }
        int won = 0;
        for (Future<Served.Answer> answer : answers) {
          if (answer.get().status() == 204) {
            won++;
            version = answer.get().header("etag");
          } else {
            answer.get().isProblem(412, "precondition-failed");
          }
        }
        assertEquals(1, won);
        assertEquals(version, served.get("/v1/keys/k").header("etag"));
      }
    } finally {
      clients.shutdownNow();
    }
  }

  @Test
  void keyspacesHaveEntriesOfTheirOwn() {
    served.put("/v1/keyspaces/a%2Fb/keys/k", "x").isProblem(404, "no-such-keyspace");
    served.put("/v1/keyspaces/a%2Fb", "").is(201);
    served.put("/v1/keyspaces/a%2Fb", "").is(204);
    served.put("/v1/keyspaces/other", "").is(201);
    assertEquals(List.of("a/b", "other"), served.get("/v1/keyspaces").json().get("keyspaces"));

    String tag = served.put("/v1/keyspaces/a%2Fb/keys/k", "x").is(204).header("etag");
    served.get("/v1/keys/k").is(404);
    served.get("/v1/keyspaces/other/keys/k").is(404);
    assertEquals("x", served.get("/v1/keyspaces/a%2Fb/keys64/aw").is(200).text());
    served.put("/v1/keyspaces/a%2Fb/keys/k", "y", "If-Match", tag).is(204);
    served.delete("/v1/keyspaces/a%2Fb/keys/k", "If-Match", tag).is(412);
    served.delete("/v1/keyspaces/a%2Fb/keys/k").is(204);

    served.store().dropKeyspace(served.store().keyspace("other"));
    served.get("/v1/keyspaces/other/keys/k").isProblem(404, "no-such-keyspace");
    served.delete("/v1/keyspaces/other").isProblem(404, "no-such-keyspace");
    served.delete("/v1/keyspaces/a%2Fb").is(204);
    served.get("/v1/keyspaces/%ff/keys/k").isProblem(400, "malformed-request");
    served.put("/v1/keyspaces/" + "n".repeat(300), "").isProblem(400, "malformed-request");
  }

  @Test
  void longValuesGoBothWaysInPieces() throws Exception {
    byte[] value = new byte[20 << 20];
    new Random(7).nextBytes(value);

    String tag = served.put("/v1/keys/long", value).is(204).header("etag");

    assertArrayEquals(value, served.get("/v1/keys/long").is(200).bytes());
    assertEquals(value.length + "", served.head("/v1/keys/long").header("content-length"));
    assertEquals(tag, served.get("/v1/keys/long").header("etag"));
    served.get("/v1/keys/long", "If-None-Match", tag).is(304);
    served.get("/v1/keys/long", "If-Match", "\"x\"").isProblem(412, "precondition-failed");
    try (InputStream begun = served.stream("/v1/keys/long").body()) {
      assertEquals(value[0] & 0xff, begun.read());
    }
    Served.await(() -> served.store().stats().openCursors() == 0);
    assertEquals(0, served.store().stats().openSnapshots());
  }

  @Test
  void aLongValueThatIsReplacedWhileItGoesOutComesWhole() throws Exception {
    byte[] value = new byte[20 << 20];
    new Random(9).nextBytes(value);
    served.put("/v1/keys/long", value).is(204);
    try (InputStream begun = served.stream("/v1/keys/long").body()) {
      assertEquals(value[0] & 0xff, begun.read());

      served.put("/v1/keys/long", "short").is(204);
      served.store().reclaim();

      byte[] rest = begun.readAllBytes();
      assertArrayEquals(Arrays.copyOfRange(value, 1, value.length), rest);
    }
    assertEquals("short", served.get("/v1/keys/long").text());
  }

  @Test
  void valuesAroundTheLimitsOfLoopAndPiecesComeWhole() {
    for (int length : List.of(0, 16 << 10, (16 << 10) + 1, 128 << 10, (128 << 10) + 1)) {
      byte[] value = new byte[length];
      new Random(length).nextBytes(value);
      String tag = served.put("/v1/keys/k", value).is(204).header("etag");

      Served.Answer answer = served.get("/v1/keys/k").is(200);

      assertArrayEquals(value, answer.bytes());
      assertEquals(tag, answer.header("etag"));
      assertEquals(length + "", answer.header("content-length"));
      served.get("/v1/keys/k", "If-None-Match", tag).is(304);
    }
  }
}
