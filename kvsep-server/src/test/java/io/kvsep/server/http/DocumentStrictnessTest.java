package io.kvsep.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.json.JsonText;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What the server refuses as malformed, the OpenAPI document does not allow. */
final class DocumentStrictnessTest extends SharedServer {
  private static final int MALFORMED = 400;

  /** Whether a text is a value of the type that the schema wants, or else the text. */
  private static Object typed(Map<String, Object> schema, String text) {
    String type = String.valueOf(schema.get("type"));
    if (type.equals("integer") && text.matches("-?[0-9]{1,18}")) {
      return Long.valueOf(text);
    } else if (type.equals("boolean") && text.matches("true|false")) {
      return text.equals("true");
    }
    return text;
  }

  private static void assertHeader(String name, String value, boolean isAllowed) {
    Map<String, Object> schema = ApiDocument.parameter(name);
    assertEquals(isAllowed, JsonSchema.allows(schema, typed(schema, value)), name + ": " + value);
    int status = served.put("/v1/keys/k", "x", name, value).status();
    assertEquals(!isAllowed, status == MALFORMED, name + ": " + value + " is a " + status);
  }

  @Test
  void headers() {
    for (String name : List.of("If-Match", "If-None-Match")) {
      for (String wrong : List.of("", " ", ",", "x", "\"x", "w/\"x\"", "\"a\", b", "**x", "W/*")) {
        assertHeader(name, wrong, false);
      }
      for (String right : List.of("*", "\"x\"", "\"\"", "W/\"x\"", "\"a\", W/\"b\"", ",\"a\",,")) {
        assertHeader(name, right, true);
      }
    }
    for (String wrong : List.of("0", "-1", "x", "1.5", "")) {
      assertHeader("Kvsep-Ttl-Millis", wrong, false);
    }
    assertHeader("Kvsep-Ttl-Millis", "60000", true);
    for (String wrong : List.of("", "maybe", "Sync")) {
      assertHeader("Kvsep-Durability", wrong, false);
    }
    assertHeader("Kvsep-Durability", "sync", true);
  }

  private static void assertPath(String parameter, String prefix, String encoded, boolean allowed) {
    String text = URLDecoder.decode(encoded.replace("+", "%2B"), StandardCharsets.UTF_8);
    assertEquals(
        allowed, JsonSchema.allows(ApiDocument.parameter(parameter), text), prefix + encoded);
    assertEquals(!allowed, served.put(prefix + encoded, "x").status() == MALFORMED, encoded);
  }

  @Test
  void keysAndNames() {
    for (String wrong : List.of("", "Y", "YWFhY", "Y+==", "a/b", "YQ.", "%20YQ", "YQ%3D%3D")) {
      assertPath("key64", "/v1/keys64/", wrong, false);
    }
    for (String right : List.of("YQ", "YWE", "YWFh", "-_-_", "YR")) {
      assertPath("key64", "/v1/keys64/", right, true);
    }
    for (String wrong :
        List.of("", "..", "a/../b", "a%2f..", "%2e%2e", "a%00", "%0a", "%7f", "%5c..")) {
      assertPath("key", "/v1/keys/", wrong, false);
    }
    for (String right : List.of("a", "a/b", "a..", "..a", "...", "%c3%a4", "a//b", ".")) {
      assertPath("key", "/v1/keys/", right, true);
    }
    for (String wrong : List.of("..", "a%2f..", "a%00", "n".repeat(256))) {
      assertPath("keyspace", "/v1/keyspaces/", wrong, false);
    }
    for (String right : List.of("a", "a%2fb", "...", "n".repeat(255))) {
      assertPath("keyspace", "/v1/keyspaces/", right, true);
    }
  }

  private static void assertQuery(String parameter, String path, String query, boolean allowed) {
    Map<String, Object> schema = ApiDocument.parameter(parameter);
    Map<String, Object> properties = ApiDocument.object(schema, "properties");
    Map<String, Object> members = new LinkedHashMap<>();
    for (String pair : query.split("&", -1)) {
      String name = pair.substring(0, pair.indexOf('='));
      String value = pair.substring(name.length() + 1);
      members.put(
          name,
          properties.containsKey(name)
              ? typed(ApiDocument.object(properties, name), value)
              : value);
    }
    assertEquals(allowed, JsonSchema.allows(schema, members), query);
    int status =
        allowed && parameter.equals("feed")
            ? feed(path + query)
            : served.get(path + query).status();
    assertEquals(!allowed, status == MALFORMED, () -> query + " is a " + status);
  }

  private static int feed(String target) {
    try {
      var response = served.stream(target);
      response.body().close();
      return response.statusCode();
    } catch (Exception e) {
      throw new AssertionError(target, e);
    }
  }

  @Test
  void queries() {
    for (String wrong :
        List.of(
            "prefix=a&prefix64=YQ",
            "from=a&from64=YQ",
            "to=a&to64=YQ",
            "prefix=a&from=b",
            "prefix64=YQ&from=b",
            "prefix=a&to=b",
            "prefix=a&to64=YQ",
            "prefix64=Y",
            "from64=a+b",
            "to64=%2F",
            "cursor=",
            "cursor=Y",
            "limit=0",
            "limit=-1",
            "limit=x",
            "limit=",
            "reverse=1",
            "keysOnly=yes",
            "x=1")) {
      assertQuery("range", "/v1/scan?", wrong, false);
    }
    for (String right :
        List.of(
            "prefix=a",
            "prefix64=YQ",
            "prefix64=",
            "from=a&to64=YQ",
            "limit=5&reverse=true&keysOnly=false",
            "cursor=YQ",
            "prefix=a&cursor=YWI&limit=1")) {
      assertQuery("range", "/v1/scan?", right, true);
    }
    for (String wrong :
        List.of("prefix=a&prefix64=YQ", "after=-1", "after=x", "keysOnly=1", "limit=1", "from=a")) {
      assertQuery("feed", "/v1/changes?", wrong, false);
    }
    for (String right : List.of("prefix=a", "prefix64=YQ&keysOnly=true")) {
      assertQuery("feed", "/v1/changes?", right, true);
    }
  }

  private static void assertBody(String path, String body, boolean allowed) {
    Object value = Objects.requireNonNull(JsonText.object("{\"body\":" + body + "}").get("body"));
    assertEquals(allowed, JsonSchema.allows(ApiDocument.body(path), value), path + " " + body);
    int status = served.post(path, body).status();
    assertEquals(!allowed, status == MALFORMED, () -> path + " " + body + " is a " + status);
  }

  @Test
  void keysInBodies() {
    for (String wrong :
        List.of(
            "{}",
            "{\"key\":\"\"}",
            "{\"keyHex\":\"\"}",
            "{\"keyHex\":\"a\"}",
            "{\"keyHex\":\"xx\"}",
            "{\"keyBase64\":\"Y\"}",
            "{\"keyBase64\":\"YQ=\"}",
            "{\"keyBase64\":\"+_aa\"}",
            "{\"key\":\"a\",\"keyHex\":\"61\"}",
            "{\"key\":\"a\",\"x\":1}",
            "{\"key\":1}")) {
      assertBody("/v1/get", "[" + wrong + "]", false);
      assertBody("/v1/increment", wrong, false);
      String operation = wrong.equals("{}") ? "{" : wrong.substring(0, wrong.length() - 1) + ",";
      assertBody("/v1/batch", "[" + operation + "\"op\":\"delete\"}]", false);
      assertBody("/v1/transaction", "{\"reads\":[" + wrong + "]}", false);
      assertBody("/v1/transaction", "{\"checks\":[" + operation + "\"absent\":true}]}", false);
    }
    for (String right :
        List.of(
            "{\"key\":\"a\"}",
            "{\"keyHex\":\"FfaA\"}",
            "{\"keyBase64\":\"-_8\"}",
            "{\"keyBase64\":\"+/8=\"}",
            "{\"key\":\"a\",\"keyspace\":\"none\"}")) {
      assertBody("/v1/get", "[" + right + "]", true);
      assertBody("/v1/increment", right, true);
    }
    assertBody("/v1/increment", "{\"key\":\"n\",\"delta\":-5}", true);
    assertBody("/v1/increment", "{\"key\":\"n\",\"delta\":\"5\"}", false);
    assertBody("/v1/increment", "{\"key\":\"n\",\"delta\":1.5}", false);
  }

  @Test
  void operations() {
    for (String wrong :
        List.of(
            "{}",
            "{\"op\":\"get\",\"key\":\"a\"}",
            "{\"op\":\"put\",\"key\":\"a\"}",
            "{\"op\":\"put\",\"value\":\"a\"}",
            "{\"op\":\"put\",\"key\":\"a\",\"value\":\"a\",\"valueHex\":\"00\"}",
            "{\"op\":\"put\",\"key\":\"a\",\"value\":\"a\",\"ttlMillis\":0}",
            "{\"op\":\"put\",\"key\":\"a\",\"value\":\"a\",\"from\":\"a\"}",
            "{\"op\":\"put\",\"key\":\"a\",\"value\":1}",
            "{\"op\":\"delete\",\"key\":\"a\",\"value\":\"a\"}",
            "{\"op\":\"delete\",\"key\":\"a\",\"ttlMillis\":5}",
            "{\"op\":\"delete\",\"from\":\"a\",\"to\":\"b\"}",
            "{\"op\":\"deleteRange\",\"from\":\"a\"}",
            "{\"op\":\"deleteRange\",\"from\":\"a\",\"to\":\"b\",\"toHex\":\"00\"}",
            "{\"op\":\"deleteRange\",\"from\":\"a\",\"to\":\"b\",\"key\":\"c\"}",
            "[]",
            "\"put\"")) {
      assertBody("/v1/batch", "[" + wrong + "]", false);
      assertBody("/v1/transaction", "{\"operations\":[" + wrong + "]}", false);
    }
    for (String right :
        List.of(
            "",
            "{\"op\":\"put\",\"key\":\"a\",\"value\":\"\",\"ttlMillis\":60000}",
            "{\"op\":\"put\",\"keyHex\":\"61\",\"valueBase64\":\"AAE\"}",
            "{\"op\":\"delete\",\"key\":\"a\"}",
            "{\"op\":\"deleteRange\",\"from\":\"\",\"toHex\":\"ff\"}")) {
      assertBody("/v1/batch", "[" + right + "]", true);
      assertBody("/v1/transaction", "{\"operations\":[" + right + "]}", true);
    }
    for (String wrong :
        List.of(
            "{\"checks\":1}",
            "{\"operations\":{}}",
            "{\"x\":[]}",
            "[]",
            "{\"checks\":[{\"key\":\"a\"}]}",
            "{\"checks\":[{\"key\":\"a\",\"etag\":\"x\",\"absent\":true}]}")) {
      assertBody("/v1/transaction", wrong, false);
    }
    assertBody("/v1/transaction", "{\"checks\":[{\"key\":\"none\",\"absent\":true}]}", true);
    assertBody("/v1/transaction", "{}", true);
  }

  @Test
  void aNameOfACheckpoint() {
    Map<String, Object> schema = ApiDocument.body("/v1/admin/checkpoint");
    assertTrue(JsonSchema.allows(schema, Map.of("name", "monday")));
    for (String wrong : List.of("", ".a", "-a", "a b", "a/b", "n".repeat(101))) {
      assertFalse(JsonSchema.allows(schema, Map.of("name", wrong)), wrong);
    }
    assertFalse(JsonSchema.allows(schema, Map.of()));
    assertFalse(JsonSchema.allows(schema, Map.of("name", "a", "x", "b")));
  }
}
