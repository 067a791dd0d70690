package io.kvsep.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoreOnStorage;
import io.kvsep.error.ConflictException;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.error.StoreNotFoundException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ProblemsHttpTest {
  @TempDir Path folder;

  private final AtomicReference<@Nullable RuntimeException> fault = new AtomicReference<>();

  @Test
  void everyErrorOfTheStoreHasItsStatus() {
    try (Served served = faulty()) {
      row(served, new CorruptionException("1.vlog", 7, "a", "b"), 500, "corruption");
      row(
          served,
          new StorageException("no", new IOException("Input/output error")),
          500,
          "storage");
      IOException full = new IOException("No space left on device");
      row(served, new StorageException("no", full), 507, "disk-full");
      row(served, new StoreClosedException("closed"), 503, "store-closed");
      row(served, new StoreLockedException("locked"), 503, "store-locked");
      row(served, new ConflictException("lost"), 409, "conflict");
      row(served, new LimitExceededException("long"), 413, "limit-exceeded");
      row(
          served,
          new IncompatibleFormatException(
              "f", IncompatibleFormatException.Reason.TOO_NEW, "version 9"),
          500,
          "incompatible-format");
      row(served, new StoreNotFoundException("folder"), 500, "store-not-found");
      row(served, new ReadOnlyStoreException(), 409, "wrong-state");
      row(served, new IllegalStateException("dropped"), 409, "wrong-state");
      row(served, new ArithmeticException("secret of the inside"), 500, "internal");
      served.get("/health").is(200);

      row(served, new StoreFailedException("sync", new IOException("x")), 503, "store-failed");
      fault.set(null);
      served.get("/health").isProblem(503, "store-failed");
    }
  }

  @Test
  void whatTheStoreRefusesIsNotImplemented() {
    var answer = new Problems(null).response(null, new UnsupportedOperationException("no feed"));
    assertEquals(501, answer.status().code());
    assertTrue(answer.contentUtf8().contains("no feed"), answer.contentUtf8());
  }

  @Test
  void aServerOfOneStoreIsNoNode() {
    try (Served served = faulty()) {
      served.get("/v1/cluster").isProblem(404, "no-cluster");
      served.post("/v1/cluster/snapshot", "").isProblem(404, "no-cluster");
      served.post("/v1/cluster/leader", "{\"node\":\"a\"}").isProblem(404, "no-cluster");
      served.get("/v1/keys/a?consistency=stale").isProblem(400, "malformed-request");
    }
  }

  @Test
  void aFailedSyncWithoutAWaitingCallShowsInHealth() {
    CrashableStorage disk = new CrashableStorage();
    KvOptions options =
        KvOptions.builder().durability(Durability.async(Duration.ofMillis(50))).build();
    KvStore store = StoreOnStorage.open(disk, options);
    Served served = Served.of(store, HttpOptions.builder().build());
    try {
      served.put("/v1/keys/a", "x").is(204);
      store.sync();
      served.get("/health").is(200);
      disk.failNext(Fault.SYNC_FAILS, operation -> operation == Operation.SYNC);
      served.put("/v1/keys/a", "x").is(204);
      Served.await(() -> served.get("/health").status() != 200);
      served.get("/health").isProblem(503, "store-failed");
      assertEquals(true, served.get("/v1/stats").is(200).json().get("failed"));
    } finally {
      assertThrows(StoreFailedException.class, served.front()::close);
      assertThrows(StoreFailedException.class, store::close);
    }
  }

  private void row(Served served, RuntimeException error, int status, String kind) {
    fault.set(error);
    Served.Answer answer = served.put("/v1/keys/a", "x").isProblem(status, kind);
    assertFalse(answer.text().contains("inside"), answer.text());
    if (error instanceof CorruptionException) {
      assertEquals("1.vlog", answer.json().get("file"));
      assertEquals(7L, answer.json().get("offset"));
    }
    fault.set(null);
    served.put("/v1/keys/a", "x").is(204);
  }

  @Test
  void whatIsNotThereAndWhatCannotBeDone() {
    try (Served served = faulty()) {
      for (String path : List.of("/x", "/v1", "/v1/", "/v1/keysx/a", "/v1/keyspaces/a/b", "//")) {
        served.get(path).isProblem(404, "no-such-resource");
      }
      Served.Answer wrong = served.post("/v1/keys/a", "x");
      wrong.isProblem(405, "method-not-allowed");
      assertEquals("GET, HEAD, PUT, DELETE", wrong.header("allow"));
      assertEquals("POST", served.get("/v1/batch").is(405).header("allow"));
    }
  }

  /** The library knows some of these and refuses the others before they get anywhere. */
  @Test
  void methodsThatAreNoneAreToldWhichThereAre() throws Exception {
    try (Served served = faulty()) {
      for (String method : List.of("OPTIONS", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get")) {
        String answer = only(served, method, "/v1/keys/a?b");
        assertTrue(answer.startsWith("HTTP/1.1 405 "), () -> method + "\n" + answer);
        assertTrue(answer.contains("allow: GET, HEAD, PUT, DELETE\r\n"), answer);
        assertTrue(answer.contains("urn:kvsep:problem:method-not-allowed"), answer);
        assertTrue(only(served, method, "/v1/batch").contains("allow: POST\r\n"));
        assertTrue(only(served, method, "/nothing").startsWith("HTTP/1.1 404 "));
      }
      String all = "allow: GET, HEAD, POST, PUT, DELETE\r\n";
      for (String answer :
          List.of(only(served, "OPTIONS", "*"), only(served, "CONNECT", "localhost:80"))) {
        assertTrue(answer.startsWith("HTTP/1.1 405 ") && answer.contains(all), answer);
      }
    }
  }

  private static String only(Served served, String method, String target) throws IOException {
    return served.raw(
        method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }

  @Test
  void escapesThatAreNoneAreSaidSo() throws Exception {
    try (Served served = faulty()) {
      for (String target :
          List.of(
              "/v1/keys/%zz",
              "/v1/keys/%2",
              "/v1/keys/a%",
              "/v1/keys/%c3%g4",
              "/v1/scan?prefix=%zz",
              "/v1/scan?prefix=a%",
              "/v1/scan?%4=a")) {
        String answer = only(served, "GET", target);
        assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
        assertTrue(answer.contains("urn:kvsep:problem:malformed-request"), answer);
        assertTrue(answer.contains("% without two hexadecimal digits"), answer);
        assertFalse(answer.contains("keys64"), answer);
      }
    }
  }

  @Test
  void clientsHaveToShowTheToken() {
    HttpOptions options = HttpOptions.builder().token("correct-horse").build();
    try (Served served = Served.at(folder, options)) {
      for (String shown :
          List.of(
              "",
              "Bearer",
              "Bearer ",
              "Bearer wrong",
              "Bearer correct-hors",
              "Basic x",
              "correct-horse",
              "Bearer correct-horse2")) {
        Served.Answer answer = served.get("/v1/keys/a", "Authorization", shown);
        answer.isProblem(401, "no-token");
        assertTrue(answer.header("www-authenticate").startsWith("Bearer"));
      }
      for (String path : List.of("/metrics", "/v1/stats", "/nothing", "/v1/scan")) {
        served.get(path).isProblem(401, "no-token");
      }
      served.put("/v1/keys/a", "x").isProblem(401, "no-token");
      served.put("/v1/keys/a", "x", "Authorization", "bearer correct-horse").is(204);
      served.get("/v1/keys/a", "Authorization", "Bearer correct-horse").is(200);
      served.get("/").is(200);
      served.get("/health").is(200);
    }
  }

  @Test
  void pagesOfStrangersMayNotAsk() throws Exception {
    try (Served served = Served.at(folder)) {
      served.post("/v1/batch", "[]", "Origin", "http://evil.test").isProblem(403, "foreign-origin");
      served.post("/v1/batch", "[]", "Sec-Fetch-Site", "cross-site").is(403);
      served.post("/v1/batch", "[]", "Origin", "http://127.0.0.1:" + served.port()).is(200);
      served.get("/", "Sec-Fetch-Site", "cross-site").is(200);
      String rebound =
          served.raw("GET /v1/stats HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n");
      assertTrue(rebound.startsWith("HTTP/1.1 403 "), rebound);
      assertTrue(rebound.contains("foreign-host"), rebound);
    }
  }

  private Served faulty() {
    UnaryOperator<KvStore> between =
        store ->
            (KvStore)
                Proxy.newProxyInstance(
                    KvStore.class.getClassLoader(),
                    new Class<?>[] {KvStore.class},
                    (proxy, method, arguments) -> {
                      RuntimeException planned = fault.get();
                      if (planned != null && method.getName().equals("putVersioned")) {
                        throw planned;
                      }
                      try {
                        return method.invoke(store, arguments);
                      } catch (InvocationTargetException e) {
                        throw e.getCause();
                      }
                    });
    return Served.at(folder, HttpOptions.builder().build(), between);
  }
}
