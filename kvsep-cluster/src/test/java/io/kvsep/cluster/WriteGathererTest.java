package io.kvsep.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.api.AsyncApi;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.exceptions.StateMachineException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class WriteGathererTest {
  private final LinkedBlockingQueue<CompletableFuture<RaftClientReply>> sent =
      new LinkedBlockingQueue<>();
  private final CountDownLatch replyIsHandled = new CountDownLatch(1);
  private final LinkedBlockingQueue<String> closed = new LinkedBlockingQueue<>();
  private final AtomicInteger clients = new AtomicInteger();
  private volatile @Nullable Error sendFailure;

  /** As that of Ratis: closing it waits for the thread that handles a reply. */
  @SuppressWarnings("FutureReturnValueIgnored") // A proxy returns what its interface says.
  private RaftClient client() {
    clients.incrementAndGet();
    return proxy(
        RaftClient.class,
        method -> {
          if (method.equals("async")) {
            return proxy(
                AsyncApi.class,
                send -> {
                  if (sendFailure != null) {
                    throw sendFailure;
                  }
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

  /** Requests of other callers are under way on the same client. */
  @Test
  void aRefusedRequestDoesNotCloseTheClient() throws Exception {
    byte[] request = {1};
    WriteGatherer gatherer = new WriteGatherer(this::client);
    replyIsHandled.countDown();
    CompletableFuture<WriteGatherer.Outcome> outcome = gatherer.submit(request, false);
    StateMachineException refusal = new StateMachineException("seeded");
    sent.take().completeExceptionally(new CompletionException(refusal));
    CompletionException failure = assertThrows(CompletionException.class, outcome::join);
    assertSame(refusal, failure.getCause());
    assertEquals(1, clients.get());
    gatherer.close();
    assertEquals(List.of("close"), List.copyOf(closed));
  }

  @Test
  void anErrorWhileSendingIsTheAnswer() {
    WriteGatherer gatherer = new WriteGatherer(this::client);
    replyIsHandled.countDown();
    sendFailure = new OutOfMemoryError("seeded");
    for (int i = 0; i < 2; i++) {
      CompletableFuture<WriteGatherer.Outcome> outcome = gatherer.submit(new byte[1], false);
      ExecutionException failure =
          assertThrows(ExecutionException.class, () -> outcome.get(10, TimeUnit.SECONDS));
      assertInstanceOf(OutOfMemoryError.class, failure.getCause());
    }
    gatherer.close();
  }
}
