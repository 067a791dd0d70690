package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

final class ChangesHttpTest extends SharedServer {
  @Test
  void batchesGoOverAllKeyspacesInOrder() {
    served.put("/v1/keyspaces/s", "").is(201);
    served.put("/v1/keys/gone", "x").is(204);
    String lines =
        """
        {"op":"deleteRange","from":"g","to":"h"}
        {"op":"put","key":"a","value":"text","ttlMillis":60000}
        {"op":"put","keyspace":"s","keyHex":"ff00","valueBase64":"AAE="}

        {"op":"put","keyBase64":"_w","valueHex":"0a"}
        {"op":"delete","key":"a"}
        {"op":"put","key":"a","value":"last"}
        """;

    Served.Answer answer = served.post("/v1/batch", lines, "Kvsep-Durability", "sync").is(200);

    assertEquals(6L, answer.json().get("operations"));
    assertEquals("last", served.get("/v1/keys/a").is(200).text());
    served.get("/v1/keys/gone").is(404);
    assertArrayEquals(new byte[] {10}, served.get("/v1/keys/%ff").is(200).bytes());
    assertArrayEquals(new byte[] {0, 1}, served.get("/v1/keyspaces/s/keys64/_wA").is(200).bytes());
    assertEquals(0L, served.post("/v1/batch", "[]").is(200).json().get("operations"));
    served.post("/v1/batch", "[{\"op\":\"delete\",\"key\":\"a\"}]").is(200);
    served.get("/v1/keys/a").is(404);
  }

  @Test
  void aBatchWithAnythingWrongInItDoesNothing() {
    String good = "{\"op\":\"put\",\"key\":\"a\",\"value\":\"x\"}\n";
    for (String wrong :
        List.of(
            "{",
            "x",
            "1",
            "[1]",
            "[" + good,
            good + "]",
            "{\"op\":\"get\",\"key\":\"a\"}",
            "{\"op\":\"put\",\"key\":\"a\"}",
            "{\"op\":\"put\",\"key\":\"\",\"value\":\"\"}",
            "{\"op\":\"put\",\"key\":\"b\",\"keyHex\":\"00\",\"value\":\"\"}",
            "{\"op\":\"put\",\"keyHex\":\"0\",\"value\":\"\"}",
            "{\"op\":\"put\",\"key\":\"b\",\"valueBase64\":\"*\"}",
            "{\"op\":\"put\",\"key\":\"b\",\"value\":1}",
            "{\"op\":\"put\",\"key\":\"b\",\"value\":null}",
            "{\"op\":\"put\",\"key\":\"b\",\"value\":\"\",\"ttlMillis\":0}",
            "{\"op\":\"put\",\"key\":\"b\",\"value\":\"\",\"ttlMillis\":1e99}",
            "{\"op\":\"put\",\"key\":\"b\",\"value\":\"\",\"ttlMillis\":99999999999999999999}",
            "{\"op\":\"put\",\"key\":\"b\",\"value\":\"\",\"extra\":1}",
            "{\"op\":\"put\",\"key\":\"b\",\"key\":\"c\",\"value\":\"\"}",
            "{\"op\":\"put\",\"key\":\"\\ud800\",\"value\":\"\"}",
            "{\"op\":[[[[[[[[[[]]]]]]]]]]}")) {
      served.post("/v1/batch", good + wrong).isProblem(400, "malformed-request");
    }
    served
        .post("/v1/batch", good + "{\"op\":\"delete\",\"keyspace\":\"none\",\"key\":\"a\"}")
        .isProblem(404, "no-such-keyspace");
    String longKey = "k".repeat(65_536);
    served
        .post("/v1/batch", good + "{\"op\":\"delete\",\"key\":\"" + longKey + "\"}")
        .isProblem(413, "limit-exceeded");

    try (KvCursor cursor = served.store().cursor()) {
      assertFalse(cursor.next());
    }
  }

  @Test
  void aTransactionWritesAllOrTellsWhatHasChanged() {
    String tag = served.put("/v1/keys/a", "1").header("etag").replace("\"", "\\\"");
    String body =
        "{\"checks\":[{\"key\":\"a\",\"etag\":\""
            + tag
            + "\"},{\"key\":\"b\",\"absent\":true}],"
            + "\"operations\":[{\"op\":\"put\",\"key\":\"b\",\"value\":\"2\"},"
            + "{\"op\":\"delete\",\"key\":\"c\"}]}";

    assertEquals(2L, served.post("/v1/transaction", body).is(200).json().get("operations"));
    assertEquals("2", served.get("/v1/keys/b").text());

    Served.Answer conflict = served.post("/v1/transaction", body.replace("\"2\"", "\"3\""));
    conflict.isProblem(409, "conflict");
    assertTrue(conflict.text().contains("\"conflicts\":[{\"key\":\"b\",\"etag\":"));
    assertEquals("2", served.get("/v1/keys/b").text());
    String known = served.get("/v1/keys/b").header("etag").replace("\"", "\\\"");
    assertTrue(conflict.text().contains("\"etag\":\"" + known + "\""), conflict.text());
    served.put("/v1/keys/a", "1").is(204);
    conflict = served.post("/v1/transaction", body);
    assertTrue(conflict.text().contains("\"conflicts\":[{\"key\":\"a\",\"etag\":"));
    for (String wrong :
        List.of(
            "{}{}",
            "[]",
            "",
            "{\"checks\":[{\"key\":\"a\"}]}",
            "{\"other\":[]}",
            "{\"checks\":[{\"key\":\"a\",\"etag\":\"x\",\"absent\":true}]}",
            "{\"operations\":{\"op\":\"delete\"}}")) {
      served.post("/v1/transaction", wrong).isProblem(400, "malformed-request");
    }
  }

  @Test
  void ofTransactionsOnOneVersionExactlyOneIsCarriedOut() throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(6);
    try {
      served.put("/v1/keys/a", "0");
      String tag = served.get("/v1/keys/a").header("etag").replace("\"", "\\\"");
      List<Future<Served.Answer>> answers = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        String body =
            ("{\"checks\":[{\"key\":\"a\",\"etag\":\"%s\"}],"
                    + "\"operations\":[{\"op\":\"put\",\"key\":\"a\",\"value\":\"v%d\"}]}")
                .formatted(tag, i);
        answers.add(clients.submit(() -> served.post("/v1/transaction", body)));
      }
      int won = 0;
      for (Future<Served.Answer> answer : answers) {
        won += answer.get().status() == 200 ? 1 : 0;
        assertTrue(answer.get().status() == 200 || answer.get().status() == 409);
      }
      assertEquals(1, won);
    } finally {
      clients.shutdownNow();
    }
  }

  @Test
  void countersAddUp() throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        all.add(
            clients.submit(
                () -> served.post("/v1/increment", "{\"key\":\"n\",\"delta\":2}").is(200)));
      }
      for (Future<?> one : all) {
        one.get();
      }
    } finally {
      clients.shutdownNow();
    }
    assertEquals(81L, served.post("/v1/increment", "{\"key\":\"n\"}").is(200).json().get("value"));
    served.put("/v1/keys/text", "no counter");
    served.post("/v1/increment", "{\"key\":\"text\"}").isProblem(409, "no-counter");
    served
        .post("/v1/increment", "{\"key\":\"n\",\"delta\":9223372036854775807}")
        .isProblem(409, "no-counter");
    assertNull(served.store().get("other".getBytes(UTF_8)));
  }
}
