package io.kvsep.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OpenApiTest {
  private static final Set<String> METHODS = Set.of("get", "head", "put", "post", "delete");

  @TempDir Path folder;

  @Test
  void theDocumentHasTheRoutesAndMethodsThereAreAndNoOthers() {
    try (Served served = Served.at(folder)) {
      Set<String> there = new TreeSet<>();
      for (Route route : served.front().routes().all()) {
        route
            .operations()
            .keySet()
            .forEach(m -> there.add(route.template() + " " + m.name().toLowerCase(Locale.ROOT)));
      }
      Set<String> documented = new TreeSet<>();
      Map<String, Object> paths = ApiDocument.paths();
      for (String path : paths.keySet()) {
        for (String member : ApiDocument.object(paths, path).keySet()) {
          if (METHODS.contains(member)) {
            documented.add(path + " " + member);
          }
        }
      }

      assertEquals(there, documented);
    }
  }

  @Test
  void theDocumentHasTheParametersOfQueriesThatAreTaken() {
    Map<String, Set<String>> taken =
        Map.of(
            "/v1/scan", Scans.PARAMETERS,
            "/v1/keyspaces/{name}/scan", Scans.PARAMETERS,
            "/v1/changes", ChangeFeedApi.PARAMETERS,
            "/v1/keyspaces/{name}/changes", ChangeFeedApi.PARAMETERS);
    taken.forEach(
        (path, names) ->
            assertEquals(new TreeSet<>(names), ApiDocument.queryParameters(path, "get"), path));
  }

  @Test
  void theDocumentIsServedWithoutAToken() {
    HttpOptions options = HttpOptions.builder().token("a secret".replace(' ', '-')).build();
    try (Served served = Served.at(folder, options)) {
      Served.Answer answer = served.get("/v1/openapi.json").is(200);

      assertEquals("3.1.0", answer.json().get("openapi"));
      assertTrue(answer.header("content-type").startsWith("application/json"));
    }
  }
}
