package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What JSON of a request takes in memory, and what is admitted of it. */
final class DocumentsHttpTest {
  private static final int ALL_BYTES_MAX = 1 << 20;

  @TempDir static Path folder;
  private static Served served;

  @BeforeAll
  static void serve() {
    HttpLimits limits =
        LimitsHttpTest.with(
            limit -> {
              limit.valueBytes = ALL_BYTES_MAX;
              limit.documentBytes = ALL_BYTES_MAX;
              limit.bodiesBytes = ALL_BYTES_MAX;
            });
    served = Served.at(folder, HttpOptions.builder().limits(limits).build());
  }

  @AfterAll
  static void close() {
    served.close();
  }

  @Test
  void objectsAreTakenOneByOne() {
    // Behind the first object that is wrong nothing is looked at any more.
    assertTells("/v1/batch", "{} x", "object 1: ");
    assertTells("/v1/batch", "{\"op\":\"delete\",\"key\":\"a\"}{\"op\":\"none\"} x", "object 2: ");
    assertTells("/v1/transaction", "{\"operations\":[{\"op\":\"none\"},x", "operations[0]: ");
    assertTells("/v1/transaction", "{\"checks\":[{\"key\":\"a\"},x", "checks[0]: ");
    String members =
        IntStream.range(0, 17).mapToObj(i -> "\"m" + i + "\":1").collect(Collectors.joining(","));
    assertTells("/v1/increment", "{" + members + ",x", "more than 16 members");
    assertTells("/v1/batch", "{" + members + ",x", "more than 16 members");
  }

  private static void assertTells(String target, String body, String what) {
    Served.Answer answer = served.post(target, body).isProblem(400, "malformed-request");
    assertTrue(answer.text().contains(what), answer.text());
  }

  @Test
  void whatIsNoTextIsMalformed() {
    assertTells("/v1/batch", "{\0\0\0abcd", "the body is no JSON that is taken: ");
    assertTells("/v1/batch", "\0".repeat(8) + "{}", "the body is no JSON that is taken: ");
  }

  @Test
  void listsStandWhereTheyHaveAMeaning() {
    for (String wrong :
        List.of(
            "{\"checks\":1}",
            "{\"operations\":null}",
            "{\"operations\":[[]]}",
            "{\"operations\":[{\"op\":[{\"op\":\"delete\"}]}]}",
            "{\"checks\":[],\"checks\":[]}",
            "{\"operations\":[],\"op\":\"put\"}",
            "{\"operations\":[]")) {
      served.post("/v1/transaction", wrong).isProblem(400, "malformed-request");
    }
    served.post("/v1/transaction", "{\"operations\":[],\"checks\":[]}").is(200);
  }

  /** When nothing of the requests before counts any more. */
  private static Served.Answer post(String target, String body) {
    Served.await(() -> served.get("/v1/stats").text().contains("\"bodyBytes\":0,"));
    return served.post(target, body);
  }

  @Test
  void whatIsMadeOfABodyCounts() {
    // A batch is there twice.
    int half = ALL_BYTES_MAX / 2;
    post("/v1/batch", puts(half)).is(200);
    post("/v1/batch", puts(half + 100)).isProblem(413, "limit-exceeded");
    post("/v1/batch", "[]").is(200);
    served.put("/v1/keys/whole", new byte[ALL_BYTES_MAX - 100]).is(204);

    // A transaction takes seven times its length.
    String head = "{\"operations\":[";
    String fits = head + "{\"op\":\"delete\",\"key\":\"whole\"}]}";
    int seventh = ALL_BYTES_MAX / 7;
    post("/v1/transaction", fits + " ".repeat(seventh + 1)).isProblem(413, "limit-exceeded");
    served.get("/v1/keys/whole").is(200);
    post("/v1/transaction", fits + " ".repeat(seventh - fits.length())).is(200);
    served.get("/v1/keys/whole").is(404);

    // Of the texts of an object each character beyond 64 Ki counts eight bytes more.
    String text = "{\"op\":\"put\",\"key\":\"text\",\"value\":\"%s\"}";
    post("/v1/batch", text.formatted("x".repeat(200 << 10))).isProblem(413, "limit-exceeded");
    assertNull(served.store().get("text".getBytes(UTF_8)));
    post("/v1/batch", text.formatted("x".repeat(128 << 10))).is(200);
    assertEquals(128 << 10, served.get("/v1/keys/text").bytes().length);

    post("/v1/batch", "[]").is(200);
  }

  /** The parser remembers names from one body to the next, to make each text but once. */
  @Test
  void unknownNamesAreNotKept() throws Exception {
    String name = "n".repeat(49_990);
    for (int i = 0; i < 20; i++) {
      for (Charset charset : List.of(UTF_8, UTF_16)) {
        byte[] body = ("{\"" + i + name + "\":1}").getBytes(charset);
        served
            .send(served.request("POST", "/v1/increment", body))
            .isProblem(400, "malformed-request");
      }
    }
    String key = "k".repeat(60_000);
    served.post("/v1/increment", "{\"key\":\"" + key + "\",\"delta\":2}").is(200);
    assertKeptNamesAreShort("_byteSymbolCanonicalizer", "names");
    assertKeptNamesAreShort("_rootCharSymbols", "symbols");
  }

  /** In a table of the factory of the parsers, which is there for good. */
  private static void assertKeptNamesAreShort(String table, String names) throws Exception {
    Field factory = Document.class.getDeclaredField("JSON");
    factory.setAccessible(true);
    Object root = field(Objects.requireNonNull(factory.get(null)), table);
    Object state = Objects.requireNonNull(((AtomicReference<?>) field(root, "_tableInfo")).get());
    for (String name : (String[]) field(state, names)) {
      assertTrue(name == null || name.length() < 100, () -> name.length() + " characters");
    }
  }

  private static Object field(Object owner, String name) throws Exception {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return Objects.requireNonNull(field.get(owner));
  }

  private static String puts(int bytes) {
    String put = "{\"op\":\"put\",\"key\":\"k\",\"value\":\"\"}\n";
    String all = put.repeat(bytes / put.length());
    return all + " ".repeat(bytes - all.length());
  }

  @Test
  void conflictsAreToldUpToANumber() {
    String checks =
        IntStream.range(0, 1_500)
            .mapToObj(i -> "{\"key\":\"k" + i + "\",\"etag\":\"x\"}")
            .collect(Collectors.joining(","));
    assertEquals(1_000, conflicts(checks));
  }

  @Test
  void conflictsOfLongKeysAreToldUpToSomeBytes() {
    String checks =
        IntStream.range(0, 7)
            .mapToObj(i -> "{\"key\":\"" + "k".repeat(20_000) + i + "\",\"etag\":\"x\"}")
            .collect(Collectors.joining(","));
    assertEquals(3, conflicts(checks));
    // Of a key of control characters each byte takes six in the answer.
    byte[] key = new byte[65_535];
    Arrays.fill(key, (byte) 1);
    String longest = Base64.getUrlEncoder().withoutPadding().encodeToString(key);
    String second = "{\"key\":\"b\",\"etag\":\"x\"}";
    assertEquals(1, conflicts("{\"keyBase64\":\"" + longest + "\",\"etag\":\"x\"}," + second));
  }

  private static int conflicts(String checks) {
    Served.Answer answer = served.post("/v1/transaction", "{\"checks\":[" + checks + "]}");
    answer.isProblem(409, "conflict");
    return answer.text().split("\"absent\":true", -1).length - 1;
  }
}
