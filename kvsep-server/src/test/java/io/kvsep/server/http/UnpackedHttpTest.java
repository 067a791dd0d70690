package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Socket;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Long values that are kept compressed, and lie on the heap as long as they go out. */
@Timeout(60)
final class UnpackedHttpTest {
  private static final int ALL_BYTES_MAX = 3 << 20;
  private static final int VALUE_BYTES = 2 << 20;
  private static final int GREAT_VALUE_BYTES = 5 << 20;

  @TempDir Path folder;
  private Served served;

  @BeforeEach
  void serve() {
    HttpLimits limits =
        LimitsHttpTest.with(
            limit -> {
              limit.valueBytes = ALL_BYTES_MAX;
              limit.documentBytes = ALL_BYTES_MAX;
              limit.bodiesBytes = ALL_BYTES_MAX;
            });
    served = Served.at(folder, HttpOptions.builder().limits(limits).build());
    put("a", new byte[10]);
    put("b", new byte[VALUE_BYTES]);
    put("c", new byte[GREAT_VALUE_BYTES]);
    byte[] incompressible = new byte[VALUE_BYTES];
    new Random(1).nextBytes(incompressible);
    put("d", incompressible);
  }

  private void put(String key, byte[] value) {
    served.store().put(key.getBytes(UTF_8), value);
  }

  @AfterEach
  void close() {
    served.close();
  }

  private void awaitReserved(long bytes) {
    String held = "bodyBytes=" + bytes + ",";
    Served.await(() -> served.get("/v1/stats").json().toString().contains(held));
  }

  @Test
  void theyCountAmongBodiesUntilTheyAreGone() throws Exception {
    try (Socket silent = served.socket()) {
      new Frames(silent, 0).get(1, "/v1/keys/b");
      awaitReserved(VALUE_BYTES);
      served.get("/v1/keys/b").isProblem(503, "overloaded");
      served.get("/v1/keys/c").isProblem(503, "overloaded");
      assertEquals(VALUE_BYTES, served.get("/v1/keys/d").is(200).bytes().length);
    }
    awaitReserved(0);
    assertEquals(VALUE_BYTES, served.get("/v1/keys/b").is(200).bytes().length);
    // More than there may be, but alone.
    assertEquals(GREAT_VALUE_BYTES, served.get("/v1/keys/c").is(200).bytes().length);
    awaitReserved(0);
  }

  @Test
  void scansEndInFrontOfThemWhereThereIsNoRoom() throws Exception {
    String after = ",\"valueLength\":10,\"value\":\"AAAAAAAAAAAAAA==\"}\n{\"cursor\":\"YQ\"}\n";
    try (Socket silent = served.socket()) {
      new Frames(silent, 0).get(1, "/v1/scan?from=b");
      awaitReserved(VALUE_BYTES);
      assertEquals("{\"key\":\"a\"" + after, served.get("/v1/scan").is(200).text());
      served.get("/v1/scan?cursor=YQ").isProblem(503, "overloaded");
      assertTrue(served.get("/v1/scan?keysOnly=true").is(200).text().contains("\"c\""));
      assertTrue(served.get("/v1/scan?from=d").is(200).bytes().length > VALUE_BYTES);
    }
    awaitReserved(0);
    String all = served.get("/v1/scan?cursor=YQ").is(200).text();
    assertEquals(3, all.split("\"key\"", -1).length - 1);
    awaitReserved(0);
  }
}
