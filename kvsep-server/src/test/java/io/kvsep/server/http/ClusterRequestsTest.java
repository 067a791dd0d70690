package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.LogPosition;
import io.netty.channel.EventLoopGroup;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests to a node whose store fails at its first write. */
@Timeout(60)
final class ClusterRequestsTest {
  private static final EventLoopGroup LOOPS = EventLoopGroups.newEventLoopGroup(1, "test", true);

  private final KvStore store = KvStore.inMemory();
  private final AtomicInteger puts = new AtomicInteger();
  private final AtomicReference<LogPosition> written = new AtomicReference<>(LogPosition.NONE);

  @Test
  void whatFailedBeforeItWroteIsCarriedOutAgain() throws Exception {
    assertEquals(204, put(/* failsWhenWritten= */ false));
    assertEquals(2, puts.get());
    assertArrayEquals("v".getBytes(UTF_8), store.get("k".getBytes(UTF_8)));
  }

  @Test
  void whatFailedAfterItWroteIsNotCarriedOutAgain() throws Exception {
    assertEquals(409, put(/* failsWhenWritten= */ true));
    assertEquals(1, puts.get());
  }

  private int put(boolean failsWhenWritten) throws Exception {
    KvStore failing =
        proxy(
            KvStore.class,
            (method, arguments) -> {
              if (method.getName().startsWith("put") && puts.getAndIncrement() == 0) {
                if (failsWhenWritten) {
                  written.set(LogPosition.of(7));
                }
                throw new IllegalStateException("seeded");
              }
              return method.invoke(store, arguments);
            });
    try (HttpFront front = new HttpFront(node(failing), HttpOptions.builder().build(), LOOPS)) {
      front.start();
      URI key = URI.create("http://127.0.0.1:" + front.address().getPort() + "/v1/keys/k");
      HttpRequest request =
          HttpRequest.newBuilder(key)
              .timeout(Duration.ofSeconds(30))
              .PUT(BodyPublishers.ofString("v"))
              .build();
      return HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
    }
  }

  private ClusterNode node(KvStore served) {
    ClusterNode.Call call =
        proxy(
            ClusterNode.Call.class,
            (method, arguments) -> method.getName().equals("close") ? null : written.get());
    return proxy(
        ClusterNode.class,
        (method, arguments) ->
            switch (method.getName()) {
              case "store" -> served;
              case "begin" -> call;
              case "cluster", "nodeId" -> "a";
              case "shards" -> 1;
              case "hasApplied" -> true;
              default -> null;
            });
  }

  private interface Answer {
    @Nullable Object of(Method method, @Nullable Object[] arguments)
        throws ReflectiveOperationException;
  }

  private static <T> T proxy(Class<T> type, Answer answer) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> {
              try {
                return answer.of(method, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }
}
