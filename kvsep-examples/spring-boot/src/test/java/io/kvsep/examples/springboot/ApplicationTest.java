package io.kvsep.examples.springboot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

class ApplicationTest {
  @TempDir Path directory;
  private final HttpClient client = HttpClient.newHttpClient();
  private int port;

  @Test
  void notesOutliveTheServiceAndTheStoreHasHealthAndMeters() throws Exception {
    try (ConfigurableApplicationContext service = start()) {
      assertEquals(200, send("/notes/a", "PUT", "tea").statusCode());
      assertEquals(200, send("/notes/b", "PUT", "cake").statusCode());
      assertEquals("tea", send("/notes/a", "GET", "").body());
      assertEquals(404, send("/notes/c", "GET", "").statusCode());
      assertEquals("[\"a\",\"b\"]", send("/notes", "GET", "").body());
      assertEquals("[\"b\"]", send("/notes?after=a", "GET", "").body());

      String health = send("/actuator/health", "GET", "").body();
      assertTrue(health.contains("\"store\":{\"status\":\"UP\"}"), health);
      String meters = send("/actuator/prometheus", "GET", "").body();
      assertTrue(meters.contains("kvsep_commits_total{store=\"notes\"} 2.0"), meters);
    }
    try (ConfigurableApplicationContext service = start()) {
      assertEquals(200, send("/notes/a", "DELETE", "").statusCode());
      assertEquals("[\"b\"]", send("/notes", "GET", "").body());
    }
  }

  private ConfigurableApplicationContext start() {
    ConfigurableApplicationContext service =
        SpringApplication.run(
            Application.class, "--server.port=0", "--notes.directory=" + directory);
    port = ((WebServerApplicationContext) service).getWebServer().getPort();
    return service;
  }

  private HttpResponse<String> send(String path, String method, String body)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
            .method(method, BodyPublishers.ofString(body))
            .build();
    return client.send(request, BodyHandlers.ofString());
  }
}
