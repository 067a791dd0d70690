package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.Documents;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class UpkeepHttpTest {
  @TempDir Path folder;

  @Test
  void upkeepIsDoneAndReported() {
    try (Served served = Served.at(folder)) {
      served.put("/v1/keys/a", "x".repeat(5000)).is(204);
      served.post("/v1/admin/sync", "").is(204);
      served.post("/v1/admin/flush", "").is(204);
      assertEquals(1, served.store().stats().flushes());
      served.post("/v1/admin/compact", "").is(204);
      assertTrue(served.post("/v1/admin/reclaim", "").is(200).json().containsKey("bytesFreed"));
      assertEquals(true, served.post("/v1/admin/verify", "").is(200).json().get("sound"));
      served.get("/v1/admin/flush").isProblem(405, "method-not-allowed");
    }
  }

  @Test
  void checkpointsGoIntoTheirDirectoryOnly() {
    Path allowed = folder.resolve("copies");
    HttpOptions options = HttpOptions.builder().checkpoints(allowed).build();
    try (Served served = Served.at(folder.resolve("store"), options)) {
      served.put("/v1/keys/a", "x").is(204);
      served.post("/v1/admin/checkpoint", "{\"name\":\"one\"}").is(200);
      served.post("/v1/admin/checkpoint", "{\"name\":\"one\"}").isProblem(409, "exists");
      for (String name : List.of("../x", "/x", "a/b", "", ".", "..", ".x", "-x", "a\\u0000")) {
        served
            .post("/v1/admin/checkpoint", "{\"name\":\"" + name + "\"}")
            .isProblem(400, "malformed-request");
      }
    }
    assertFalse(Files.exists(folder.resolve("x")));
    try (KvStore copy = KvStore.open(allowed.resolve("one"))) {
      assertArrayEquals("x".getBytes(UTF_8), copy.get("a".getBytes(UTF_8)));
    }
    try (Served served = Served.at(folder.resolve("other"))) {
      served.post("/v1/admin/checkpoint", "{\"name\":\"one\"}").isProblem(403, "no-checkpoints");
    }
  }

  @Test
  void aBackupIsWhole() throws Exception {
    byte[] value = new byte[3 << 20];
    new Random(7).nextBytes(value);
    byte[] backup;
    try (Served served = Served.at(folder.resolve("store"))) {
      served.store().put("long".getBytes(UTF_8), value);
      served.store().in(served.store().keyspace("users")).put(new byte[] {1}, new byte[] {2});
      backup = served.get("/v1/backup").is(200).bytes();
      served.get("/v1/backup?since=1").isProblem(400, "malformed-request");
    }
    try (KvStore copy = KvStore.open(folder.resolve("copy"))) {
      copy.restore(new ByteArrayInputStream(backup));
      assertArrayEquals(value, copy.get("long".getBytes(UTF_8)));
      assertArrayEquals(new byte[] {2}, copy.in(copy.keyspace("users")).get(new byte[] {1}));
    }
  }

  @Test
  void oneBackupRunsAtATimeUntilItsClientLeaves() throws Exception {
    try (Served served = Served.at(folder)) {
      Random random = new Random(8);
      for (int i = 0; i < 16; i++) {
        byte[] value = new byte[1 << 20];
        random.nextBytes(value);
        served.store().put(new byte[] {(byte) i}, value);
      }
      try (InputStream backup = served.stream("/v1/backup").body()) {
        assertTrue(backup.read() >= 0);
        served.get("/v1/backup").isProblem(409, "upkeep-under-way");
      }
      Served.await(() -> served.get("/v1/backup").status() == 200);
    }
  }

  @Test
  void aBackupThatFailsAtOnceIsAProblem() {
    Served served = Served.at(folder);
    served.store().close();
    served.get("/v1/backup").isProblem(503, "store-closed");
    assertThrows(StoreClosedException.class, served::close);
  }

  @Test
  void aPathThatSpeaksOfSpaceIsNoFullDisk() throws IOException {
    Path file = Files.createFile(folder.resolve("no space left"));
    HttpOptions options =
        HttpOptions.builder().checkpoints(file.resolve("workspace/disk quota")).build();
    try (Served served = Served.at(folder.resolve("store"), options)) {
      served.post("/v1/admin/checkpoint", "{\"name\":\"one\"}").isProblem(500, "storage");
    }
  }

  @Test
  void figuresTellOfStoreAndServer() {
    try (Served served = Served.at(folder)) {
      served.put("/v1/keys/a", "x").is(204);
      served.get("/v1/keys/a").is(200);
      served.get("/v1/keys/b").is(404);

      var stats = served.get("/v1/stats").is(200).json();
      assertEquals(1L, stats.get("commits"));
      var get = ApiDocument.object(requests(stats), "get");
      assertEquals(2L, get.get("count"));
      assertEquals(1L, get.get("problems"));
      assertEquals(1L, ApiDocument.object(requests(stats), "put").get("count"));
      assertTrue(stats.containsKey("segments"));

      String metrics = served.get("/metrics").is(200).text();
      assertTrue(metrics.contains("\nkvsep_commits_total "), metrics);
      assertTrue(metrics.contains("kvsep_http_requests_seconds_count{operation=\"get\"} 2"));
      assertEquals("up", served.get("/health").is(200).json().get("status"));
    }
  }

  @Test
  void aRequestWhoseBodyIsRefusedCountsAsOne() {
    HttpLimits limits = LimitsHttpTest.with(limit -> limit.documentBytes = 10);
    HttpOptions options = HttpOptions.builder().limits(limits).build();
    try (Served served = Served.at(folder, options)) {
      served.post("/v1/increment", "{\"key\":\"a\"}").isProblem(413, "limit-exceeded");
      var stats = served.get("/v1/stats").is(200).json();
      var increment = ApiDocument.object(requests(stats), "increment");
      assertEquals(1L, increment.get("count"));
      assertEquals(1L, increment.get("problems"));
    }
  }

  @Test
  void everyMeterIsDocumented() throws IOException {
    Set<String> documented = new TreeSet<>();
    for (List<String> row : Documents.rows("metrics.md", "meter of the server")) {
      documented.add(row.get(0));
    }
    documented.removeIf(name -> !name.startsWith("kvsep.http."));
    try (Served served = Served.at(folder)) {
      Set<String> actual = new TreeSet<>();
      served.front().meters().getMeters().forEach(meter -> actual.add(meter.getId().getName()));
      actual.removeIf(name -> !name.startsWith("kvsep.http."));
      // Not of the registry, which has no histograms of what is counted elsewhere.
      assertTrue(
          served.get("/metrics").text().contains("# TYPE kvsep_http_requests_seconds histogram"));
      actual.add("kvsep.http.requests");
      assertEquals(documented, actual);
    }
  }

  private static Map<String, Object> requests(Map<String, Object> stats) {
    return ApiDocument.object(ApiDocument.object(stats, "server"), "requests");
  }
}
