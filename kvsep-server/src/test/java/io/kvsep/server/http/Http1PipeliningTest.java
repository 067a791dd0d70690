package io.kvsep.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When which of several requests of one connection begins, and when more of them may come. */
final class Http1PipeliningTest {
  private static final Duration TIME = Duration.ofSeconds(7);

  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final Http1Pipelining turns = Http1Pipelining.of(channel);
  private final List<String> begun = new ArrayList<>();

  /** What a client has sent; the server has no answer yet. */
  private final class Sent {
    final HttpRequest request;
    final ServiceRequestContext context;
    final CompletableFuture<HttpResponse> made = new CompletableFuture<>();
    final HttpResponse answer;

    Sent(String path) {
      this(HttpRequest.of(HttpMethod.GET, path));
    }

    Sent(HttpRequest request) {
      this.request = request;
      context = ServiceRequestContext.builder(request).eventLoop(channel.eventLoop()).build();
      context.setRequestTimeout(Duration.ofSeconds(1));
      answer =
          turns.answer(
              context,
              request,
              (sameContext, sameRequest) -> {
                begun.add(sameRequest.path());
                return HttpResponse.of(made);
              },
              TIME);
    }

    /** To the buffer of the connection. */
    void handOverAnswer() {
      made.complete(HttpResponse.of(HttpStatus.OK));
      CompletableFuture<?> unusedWhole = answer.aggregate(channel.eventLoop());
      channel.runPendingTasks();
      assertTrue(answer.isComplete());
    }

    void sendAnswer() {
      handOverAnswer();
      context.logBuilder().endResponse();
      channel.runPendingTasks();
    }

    void dropBody() {
      CompletableFuture<?> unusedWhole = request.aggregate(channel.eventLoop());
      channel.runPendingTasks();
    }

    /** In the order in which the library does it. */
    void finish() {
      sendAnswer();
      dropBody();
    }

    /** Before all of the body has come. */
    void refuse() {
      sendAnswer();
      request.abort();
      channel.runPendingTasks();
    }
  }

  @AfterEach
  void close() {
    channel.finish();
  }

  @Test
  void eachBeginsWhenTheOneBeforeItIsGone() {
    Sent first = new Sent("/1");
    Sent second = new Sent("/2");
    Sent third = new Sent("/3");
    assertEquals(List.of("/1"), begun);

    first.sendAnswer();
    assertEquals(List.of("/1"), begun, "the library still has some of its body");
    first.dropBody();
    assertEquals(List.of("/1", "/2"), begun);
    second.finish();
    assertEquals(List.of("/1", "/2", "/3"), begun);
    third.finish();

    new Sent("/4").finish();
    assertEquals(List.of("/1", "/2", "/3", "/4"), begun);
  }

  @Test
  void anAnswerThatHasNotGoneOutHoldsUpTheNext() {
    Sent first = new Sent("/1");
    Sent second = new Sent("/2");
    first.handOverAnswer();
    first.dropBody();
    assertEquals(List.of("/1"), begun, "the client does not read");
    assertFalse(channel.config().isAutoRead());
    first.context.logBuilder().endResponse(new IOException("it has left"));
    channel.runPendingTasks();
    assertEquals(List.of("/1", "/2"), begun);
    second.finish();
  }

  @Test
  void whileOneWaitsNothingIsRead() {
    Sent first = new Sent("/1");
    assertTrue(channel.config().isAutoRead());
    Sent second = new Sent("/2");
    Sent third = new Sent("/3");
    assertFalse(channel.config().isAutoRead());
    first.finish();
    assertFalse(channel.config().isAutoRead());
    second.finish();
    assertTrue(channel.config().isAutoRead(), "the body of the third has to come in");
    third.finish();
    assertTrue(channel.config().isAutoRead());
  }

  @Test
  void timeCountsFromTheBeginning() {
    Sent first = new Sent("/1");
    Sent second = new Sent("/2");
    long ofFirst = first.context.requestTimeoutMillis();
    assertTrue(ofFirst >= 1_000 && ofFirst < TIME.toMillis(), ofFirst + " ms, set from now");
    assertEquals(0, second.context.requestTimeoutMillis());
    first.finish();
    assertTrue(second.context.requestTimeoutMillis() >= TIME.toMillis());
  }

  @Test
  void aBodyWithoutAWaitingCallHasItsTime() {
    channel.freezeTime();
    Sent first = new Sent("/1");
    first.finish();
    passTime();
    assertTrue(channel.isOpen(), "all of it was read");

    new Sent(HttpRequest.streaming(HttpMethod.PUT, "/2")).refuse();
    Sent third = new Sent(HttpRequest.streaming(HttpMethod.PUT, "/3"));
    passTime();
    assertTrue(channel.isOpen(), "all of the second has come");

    third.refuse();
    assertTrue(channel.isOpen());
    passTime();
    assertFalse(channel.isOpen());
    assertEquals(List.of("/1", "/2", "/3"), begun);
  }

  private void passTime() {
    channel.advanceTimeBy(TIME.toMillis(), TimeUnit.MILLISECONDS);
    channel.runScheduledPendingTasks();
  }

  @Test
  void manyThatAreAnsweredAtOnceTakeNoStack() {
    Sent first = new Sent("/0");
    List<Sent> all = new ArrayList<>();
    for (int i = 1; i <= 20_000; i++) {
      Sent sent = new Sent("/" + i);
      sent.made.complete(HttpResponse.of(HttpStatus.OK));
      CompletableFuture<?> unusedRest =
          sent.answer
              .aggregate(channel.eventLoop())
              .thenCompose(whole -> sent.request.aggregate(channel.eventLoop()))
              .thenRun(() -> sent.context.logBuilder().endResponse());
      all.add(sent);
    }
    first.finish();
    assertEquals(20_001, begun.size());
    assertTrue(all.stream().allMatch(sent -> sent.answer.isComplete()));
  }

  @Test
  void aRequestWithoutAWaitingClientIsNotBegun() {
    Sent first = new Sent("/1");
    Sent second = new Sent("/2");
    Sent third = new Sent("/3");
    second.answer.abort();
    assertTrue(second.answer.isComplete());
    first.finish();
    assertEquals(List.of("/1", "/3"), begun);
    Sent fourth = new Sent("/4");
    channel.finish();
    third.finish();
    assertEquals(List.of("/1", "/3"), begun);
    assertFalse(fourth.answer.isComplete());
  }
}
