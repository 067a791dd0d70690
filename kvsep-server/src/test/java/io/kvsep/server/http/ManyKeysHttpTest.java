package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.Transaction;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many keys in one request, and reads inside a transaction. */
final class ManyKeysHttpTest extends SharedServer {
  @SuppressWarnings("unchecked") // JsonText makes objects of this type and no other.
  private static List<Map<String, Object>> entries(Served.Answer answer) {
    return (List<Map<String, Object>>) Objects.requireNonNull(answer.json().get("entries"));
  }

  private static String value(Map<String, Object> entry) {
    return new String(Base64.getDecoder().decode((String) entry.get("valueBase64")), UTF_8);
  }

  @Test
  void manyKeysComeInOneAnswerInTheirOrder() {
    served.put("/v1/keyspaces/s", "").is(201);
    String tag = served.put("/v1/keys/a", "one").is(204).header("etag");
    served.put("/v1/keys64/_w", "two", "Kvsep-Ttl-Millis", "600000").is(204);
    served.put("/v1/keyspaces/s/keys/a", "three").is(204);
    served.put("/v1/keys/empty", new byte[0]).is(204);
    String asked =
        """
        {"key":"a"}
        {"key":"none"}
        {"keyHex":"ff"}
        {"keyspace":"s","keyBase64":"YQ"}
        {"keyspace":"s","key":"none"}
        {"key":"empty"}
        {"key":"a"}
        """;
    Served.Answer answer = served.post("/v1/get", asked).is(200);

    List<Map<String, Object>> found = entries(answer);
    assertEquals(7, found.size());
    assertEquals(Map.of("key", "a", "etag", tag, "valueBase64", "b25l"), found.get(0));
    assertEquals(Map.of("key", "none", "absent", true), found.get(1));
    assertEquals("/w==", found.get(2).get("keyBase64"));
    assertEquals("two", value(found.get(2)));
    Number expiresAt = assertInstanceOf(Number.class, found.get(2).get("expiresAtMillis"));
    assertTrue(expiresAt.longValue() > System.currentTimeMillis());
    assertEquals("three", value(found.get(3)));
    assertEquals("s", found.get(3).get("keyspace"));
    assertEquals(Map.of("keyspace", "s", "key", "none", "absent", true), found.get(4));
    assertEquals("", value(found.get(5)));
    assertEquals(found.get(0), found.get(6));

    String list = "[" + asked.strip().replace("\n", ",") + "]";
    assertEquals(found, entries(served.post("/v1/get", list).is(200)));
    assertEquals(List.of(), entries(served.post("/v1/get", "[]").is(200)));
    for (Map<String, Object> entry : found) {
      ApiDocument.checkMembers("Entry", entry);
    }
  }

  /** As an entry stands in the answer, with what is to be done, it is a write. */
  @Test
  void anEntryThatWasReadCanBeWrittenBack() {
    served.put("/v1/keys/a", "one").is(204);
    Map<String, Object> read = entries(served.post("/v1/get", "{\"key\":\"a\"}")).get(0);
    served.delete("/v1/keys/a").is(204);
    String write =
        "{\"op\":\"put\",\"key\":\"%s\",\"valueBase64\":\"%s\"}"
            .formatted(read.get("key"), read.get("valueBase64"));
    served.post("/v1/batch", write).is(200);
    assertEquals("one", served.get("/v1/keys/a").text());
  }

  @Test
  void whatIsNoKeyIsRefused() {
    for (String wrong :
        List.of(
            "{}",
            "{\"key\":\"\"}",
            "{\"key\":\"a\",\"keyHex\":\"61\"}",
            "{\"keyHex\":\"6\"}",
            "{\"key\":\"a\",\"op\":\"get\"}",
            "[\"a\"]",
            "\"a\"",
            "{\"key\":[\"a\"]}")) {
      served.post("/v1/get", wrong).isProblem(400, "malformed-request");
    }
    served
        .post("/v1/get", "{\"key\":\"a\",\"keyspace\":\"none\"}")
        .isProblem(404, "no-such-keyspace");
  }

  @Test
  void manyLongValuesComeAndTooManyAreRefused(@TempDir Path folder) {
    HttpLimits limits = LimitsHttpTest.with(limit -> limit.documentBytes = 1 << 20);
    try (Served small = Served.at(folder, HttpOptions.builder().limits(limits).build())) {
      byte[] value = new byte[100_000];
      new Random(5).nextBytes(value);
      for (int i = 0; i < 8; i++) {
        small.put("/v1/keys/k" + i, value).is(204);
      }
      List<Map<String, Object>> found = entries(small.post("/v1/get", keys(7)).is(200));
      for (Map<String, Object> entry : found) {
        assertArrayEquals(value, Base64.getDecoder().decode((String) entry.get("valueBase64")));
      }
      small.post("/v1/get", keys(8)).isProblem(413, "limit-exceeded");
      small.put("/v1/keys/long", new byte[900_000]).is(204);
      small.post("/v1/get", "{\"key\":\"long\"}").isProblem(413, "limit-exceeded");
      String transaction = "{\"reads\":[" + keys(8).replace('\n', ',') + "]}";
      small.post("/v1/transaction", transaction).isProblem(413, "limit-exceeded");
      Served.await(() -> small.get("/v1/stats").text().contains("\"bodyBytes\":0,"));
    }
  }

  private static String keys(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> "{\"key\":\"k" + i + "\"}")
        .collect(Collectors.joining("\n"));
  }

  @Test
  void aTransactionReadsWhatWasThereBeforeItWrites() {
    served.put("/v1/keyspaces/s", "").is(201);
    served.put("/v1/keys/a", "old").is(204);
    String take =
        """
        {"reads":[{"key":"a"},{"keyspace":"s","key":"a"}],
         "operations":[{"op":"delete","key":"a"},
                        {"op":"put","keyspace":"s","key":"a","value":"new"}]}
        """;
    Served.Answer answer = served.post("/v1/transaction", take).is(200);
    assertEquals(2L, answer.json().get("operations"));
    assertEquals("old", value(entries(answer).get(0)));
    assertEquals(true, entries(answer).get(1).get("absent"));
    served.get("/v1/keys/a").is(404);

    // The tag serves for a check of the next one.
    answer = served.post("/v1/transaction", take).is(200);
    String tag = served.head("/v1/keyspaces/s/keys/a").header("etag");
    assertEquals("new", value(entries(answer).get(1)));
    served
        .post(
            "/v1/transaction",
            "{\"reads\":[{\"key\":\"a\"}],\"checks\":[{\"key\":\"b\",\"etag\":\"x\"}]}")
        .isProblem(409, "conflict");
    String quoted = tag.replace("\"", "\\\"");
    served
        .post(
            "/v1/transaction",
            "{\"checks\":[{\"keyspace\":\"s\",\"key\":\"a\",\"etag\":\"" + quoted + "\"}]}")
        .is(200);
    assertEquals(List.of(), entries(served.post("/v1/transaction", "{}").is(200)));
  }

  /** Another write between its reads and its commit has it begin anew. */
  @Test
  void aTransactionThatIsRepeatedAnswersWithWhatItReadLast(@TempDir Path folder) {
    AtomicInteger runs = new AtomicInteger();
    HttpOptions options = HttpOptions.builder().build();
    try (Served served = Served.at(folder, options, store -> interfering(store, runs))) {
      served.put("/v1/keys/a", "0").is(204);
      Served.Answer answer =
          served.post(
              "/v1/transaction",
              "{\"reads\":[{\"key\":\"a\"}],\"operations\":[{\"op\":\"delete\",\"key\":\"b\"}]}");
      assertEquals(2, runs.get());
      assertEquals(1, entries(answer.is(200)).size());
      assertEquals("1", value(entries(answer).get(0)));
    }
  }

  /** Writes the key once, when a transaction has read it and not committed yet. */
  private static KvStore interfering(KvStore store, AtomicInteger runs) {
    Class<?>[] type = {KvStore.class};
    return (KvStore)
        Proxy.newProxyInstance(
            KvStore.class.getClassLoader(),
            type,
            (proxy, method, arguments) -> {
              try {
                if (!method.getName().equals("transact")) {
                  return method.invoke(store, arguments);
                }
                @SuppressWarnings("unchecked") // The only method of that name takes one.
                Function<Transaction, Object> work = (Function<Transaction, Object>) arguments[0];
                return store.transact(
                    transaction -> {
                      Object result = work.apply(transaction);
                      if (runs.incrementAndGet() == 1) {
                        store.put("a".getBytes(UTF_8), "1".getBytes(UTF_8));
                      }
                      return result;
                    });
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void allOfARequestAreOfOneMoment() throws Exception {
    KvReader store = served.store();
    served.put("/v1/keys/a", "0").is(204);
    served.put("/v1/keys/b", "0").is(204);
    List<String> seen = new ArrayList<>();
    Thread writer =
        new Thread(
            () -> {
              for (int i = 1; i <= 300; i++) {
                String both =
                    """
                    {"op":"put","key":"a","value":"%d"}
                    {"op":"put","key":"b","value":"%d"}
                    """;
                served.post("/v1/batch", both.formatted(i, i)).is(200);
              }
            });
    writer.start();
    while (writer.isAlive()) {
      List<Map<String, Object>> found =
          entries(served.post("/v1/get", "{\"key\":\"a\"}{\"key\":\"b\"}").is(200));
      assertEquals(value(found.get(0)), value(found.get(1)));
      seen.add(value(found.get(0)));
    }
    writer.join();
    assertArrayEquals("300".getBytes(UTF_8), store.get("a".getBytes(UTF_8)));
    assertTrue(!seen.isEmpty(), seen::toString);
  }

  @Test
  void aKeyspaceIsMadeWithoutAWordOfText() {
    Served.Answer made = served.put("/v1/keyspaces/s", "").is(201);
    assertEquals("", made.text());
    assertEquals("", made.header("content-type"));
    assertEquals("", served.put("/v1/keyspaces/s", "").is(204).text());
  }
}
