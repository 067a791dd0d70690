package io.kvsep.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.linecorp.armeria.common.HttpMethod;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A token that reads everything and writes nothing. */
final class ReadTokenHttpTest {
  private static final String NAME = "Authorization";
  private static final String WRITER = "Bearer correct-horse";
  private static final String READER = "Bearer battery-staple";

  @TempDir static Path folder;
  private static Served served;

  @BeforeAll
  static void serve() {
    HttpOptions options =
        HttpOptions.builder().token("correct-horse").readToken("battery-staple").build();
    served = Served.at(folder, options);
    served.put("/v1/keys/k", "v", NAME, WRITER).is(204);
    served.put("/v1/keyspaces/s", "", NAME, WRITER).is(201);
    served.put("/v1/keyspaces/s/keys/k", "v", NAME, WRITER).is(204);
  }

  @AfterAll
  static void close() {
    served.close();
  }

  private static String path(Route route) {
    String key = route.hasBase64Key() ? "aw" : "k";
    return route.template().replace("{key}", key).replace("{name}", "s").replace("{node}", "n");
  }

  @Test
  void allThatReadsIsPermitted() throws Exception {
    for (Route route : served.front().routes().all()) {
      for (HttpMethod method : route.operations().keySet()) {
        if (method != HttpMethod.GET && method != HttpMethod.HEAD) {
          continue;
        }
        String path = path(route);
        if (path.endsWith("/changes")) {
          try (InputStream feed = served.stream(path, NAME, READER).body()) {
            assertEquals('e', feed.read());
          }
        } else {
          // The server is no node of a cluster.
          int status = path.equals("/v1/cluster") ? 404 : 200;
          served.send(served.request(method.name(), path, new byte[0], NAME, READER)).is(status);
        }
      }
    }
  }

  @Test
  void allThatWritesIsForbidden() {
    for (Route route : served.front().routes().all()) {
      for (HttpMethod method : route.operations().keySet()) {
        if (!route.isRead(method)) {
          served
              .send(served.request(method.name(), path(route), new byte[0], NAME, READER))
              .isProblem(403, "read-only-token");
        }
      }
    }
    assertEquals("v", served.get("/v1/keys/k", NAME, READER).text());
    assertEquals("v", served.get("/v1/keyspaces/s/keys/k", NAME, READER).text());
  }

  @Test
  void theOtherTokenWritesAndNoTokenDoesNothing() {
    served.put("/v1/keys/w", "v", NAME, WRITER).is(204);
    served.delete("/v1/keys/w", NAME, WRITER).is(204);
    for (String wrong : new String[] {"Bearer", "Bearer x", "Basic battery-staple", "x"}) {
      served.get("/v1/keys/k", NAME, wrong).isProblem(401, "no-token");
      served.put("/v1/keys/k", "x", NAME, wrong).isProblem(401, "no-token");
    }
    served.get("/v1/keys/k").isProblem(401, "no-token");
    served.get("/v1/nothing", NAME, READER).isProblem(404, "no-such-resource");
    served.post("/v1/keys/k", "x", NAME, READER).isProblem(405, "method-not-allowed");
  }

  @Test
  void aTokenThatOnlyReadsNeedsAnotherOneBesideIt() {
    for (Map.Entry<String, String> wrong :
        Map.of("correct-horse", "correct-horse", "correct-hors", "short", "", "alone-here")
            .entrySet()) {
      HttpOptions.Builder options =
          HttpOptions.builder()
              .token(wrong.getKey().isEmpty() ? null : wrong.getKey())
              .readToken(wrong.getValue());
      assertThrows(IllegalArgumentException.class, options::build);
    }
  }
}
