package io.kvsep.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.api.AsyncApi;
import org.apache.ratis.protocol.RaftClientReply;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class WriteGathererTest {
  private final LinkedBlockingQueue<CompletableFuture<RaftClientReply>> sent =
      new LinkedBlockingQueue<>();
  private final CountDownLatch replyIsHandled = new CountDownLatch(1);
  private final LinkedBlockingQueue<String> closed = new LinkedBlockingQueue<>();

  /** As that of Ratis: closing it waits for the thread that handles a reply. */
  @SuppressWarnings("FutureReturnValueIgnored") // A proxy returns what its interface says.
  private RaftClient client() {
    return proxy(
        RaftClient.class,
        method -> {
          if (method.equals("async")) {
            return proxy(
                AsyncApi.class,
                send -> {
                  CompletableFuture<RaftClientReply> reply = new CompletableFuture<>();
                  sent.add(reply);
                  return reply;
                });
          }
          replyIsHandled.await();
          closed.add(method);
          return null;
        });
  }

  private interface Call {
    @Nullable Object answer(String method) throws Exception;
  }

  private static <T> T proxy(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> call.answer(method.getName())));
  }

  @Test
  void aClientThatFailedIsClosedWhenItsReplyIsHandled() throws Exception {
    byte[] request = {1};
    WriteGatherer gatherer = new WriteGatherer(this::client);
    CompletableFuture<WriteGatherer.Outcome> outcome = gatherer.submit(request, false);
    sent.take().completeExceptionally(new IOException("seeded"));
    CompletionException failure = assertThrows(CompletionException.class, outcome::join);
    assertInstanceOf(IOException.class, failure.getCause());
    assertEquals(List.of(), List.copyOf(closed));
    replyIsHandled.countDown();
    assertEquals("close", closed.take());
    CompletableFuture<WriteGatherer.Outcome> next = gatherer.submit(request, false);
    sent.take().completeExceptionally(new IOException("seeded"));
    assertThrows(CompletionException.class, next::join);
    gatherer.close();
  }
}
