package io.kvsep.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.api.AsyncApi;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.StateMachineException;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class WriteGathererTest {
  private final LinkedBlockingQueue<CompletableFuture<RaftClientReply>> sent =
      new LinkedBlockingQueue<>();

  /** Of the entries in {@link #sent}. */
  private final LinkedBlockingQueue<Integer> requests = new LinkedBlockingQueue<>();

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
        (method, unused) -> {
          if (method.equals("async")) {
            return proxy(
                AsyncApi.class,
                (send, arguments) -> {
                  if (sendFailure != null) {
                    throw sendFailure;
                  }
                  ByteString body = ((Message) arguments[0]).getContent();
                  requests.add(LogEntry.requests(ByteBuffer.wrap(body.toByteArray())).size());
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

  private static byte[] request() {
    return new RequestWriter(1 << 20).toBytes();
  }

  private WriteGatherer gatherer() {
    return new WriteGatherer(this::client, Duration.ofMinutes(1));
  }

  private interface Call {
    @Nullable Object answer(String method, Object[] arguments) throws Exception;
  }

  private static <T> T proxy(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> call.answer(method.getName(), arguments)));
  }

  @Test
  void aClientThatFailedIsClosedWhenItsReplyIsHandled() throws Exception {
    byte[] request = request();
    WriteGatherer gatherer = gatherer();
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

  private void answerNext(int requests) throws Exception {
    RaftClientReply.Builder reply =
        RaftClientReply.newBuilder()
            .setClientId(ClientId.randomId())
            .setGroupId(RaftNode.groupId("group"))
            .setServerId(RaftPeerId.valueOf("a"))
            .setSuccess()
            .setMessage(
                Message.valueOf(
                    ByteString.copyFrom(Answer.encode(Collections.nCopies(requests, Answer.OK)))));
    sent.take().complete(reply.build());
  }

  @Test
  void requestsAreGatheredWhileAnEntryIsUnderWay() throws Exception {
    Duration never = Duration.ofDays(1);
    try (WriteGatherer gatherer = new WriteGatherer(this::client, never, never, never)) {
      replyIsHandled.countDown();
      List<CompletableFuture<WriteGatherer.Outcome>> outcomes = new ArrayList<>();
      outcomes.add(gatherer.submit(request(), false));
      assertEquals(1, requests.take());
      for (int i = 0; i < 3; i++) {
        outcomes.add(gatherer.submit(request(), false));
      }
      answerNext(1);
      assertEquals(3, requests.take());
      answerNext(3);
      for (CompletableFuture<WriteGatherer.Outcome> outcome : outcomes) {
        assertEquals(Answer.OK, outcome.get(10, TimeUnit.SECONDS).answer());
      }
      // These three are likely to come again.
      for (int i = 0; i < 3; i++) {
        var unused = gatherer.submit(request(), false);
      }
      assertEquals(3, requests.take());
    }
  }

  @Test
  void callersThatDoNotComeAgainAreNotWaitedForLong() throws Exception {
    Duration never = Duration.ofDays(1);
    try (WriteGatherer gatherer =
        new WriteGatherer(this::client, never, Duration.ofMillis(1), never)) {
      replyIsHandled.countDown();
      for (int i = 0; i < 4; i++) {
        var unused = gatherer.submit(request(), false);
      }
      for (int left = 4; left > 0; ) {
        int size = requests.take();
        answerNext(size);
        left -= size;
      }
      var unused = gatherer.submit(request(), false);
      assertEquals(1, requests.take());
    }
  }

  @Test
  void manyEntriesAreUnderWayWhenAnswersAreSlow() throws Exception {
    Duration never = Duration.ofDays(1);
    try (WriteGatherer gatherer =
        new WriteGatherer(this::client, never, never, Duration.ofMillis(1))) {
      replyIsHandled.countDown();
      for (int i = 0; i < 5; i++) {
        var unused = gatherer.submit(request(), false);
        assertEquals(1, requests.take());
      }
    }
  }

  /** Requests of other callers are under way on the same client. */
  @Test
  void aRefusedRequestDoesNotCloseTheClient() throws Exception {
    byte[] request = request();
    WriteGatherer gatherer = gatherer();
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

  /** The caller would wait for ever, and others when so many are under way as may be. */
  @Test
  void aReplyThatNeverComesIsAFailure() {
    replyIsHandled.countDown();
    try (WriteGatherer gatherer = new WriteGatherer(this::client, Duration.ofMillis(1))) {
      for (int i = 0; i <= WriteGatherer.FLIGHTS_MAX; i++) {
        CompletableFuture<WriteGatherer.Outcome> outcome = gatherer.submit(request(), true);
        ExecutionException failure =
            assertThrows(ExecutionException.class, () -> outcome.get(10, TimeUnit.SECONDS));
        assertInstanceOf(TimeoutException.class, failure.getCause());
      }
    }
  }

  @Test
  void anErrorWhileSendingIsTheAnswer() {
    WriteGatherer gatherer = gatherer();
    replyIsHandled.countDown();
    sendFailure = new OutOfMemoryError("seeded");
    for (int i = 0; i < 2; i++) {
      CompletableFuture<WriteGatherer.Outcome> outcome = gatherer.submit(request(), false);
      ExecutionException failure =
          assertThrows(ExecutionException.class, () -> outcome.get(10, TimeUnit.SECONDS));
      assertInstanceOf(OutOfMemoryError.class, failure.getCause());
    }
    gatherer.close();
  }
}
