package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.kvsep.server.http.Route.Body;
import io.kvsep.server.http.Route.Handler;
import io.kvsep.server.http.Route.LoopHandler;
import io.kvsep.server.http.Route.Operation;
import io.kvsep.server.http.Route.ShortHandler;
import io.kvsep.server.http.Route.Time;
import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes a request from the event loop to its handler: HTTP/1.1 pipelining, routing, authentication,
 * admission, receiving the body, then a thread that may block.
 */
final class Dispatcher implements HttpService {
  private static final byte[] NO_BODY = new byte[0];

  private static final AttributeKey<Boolean> BEGUN =
      AttributeKey.valueOf(Dispatcher.class, "begun");

  private final Routes routes;
  private final Authenticator access;
  private final AdmissionControl gate;
  private final Problems problems;
  private final HttpLimits limits;
  private final ScheduledExecutorService longWorkers;
  private final @Nullable ClusterRequests cluster;
  private final LoopReads loopReads = new LoopReads();
  private final UnsentResponses.Total unsent;

  /**
   * @param longWorkers runs handlers that may read much at once
   * @param cluster null on a server of one store
   */
  Dispatcher(
      Routes routes,
      Authenticator access,
      AdmissionControl gate,
      Problems problems,
      HttpLimits limits,
      ScheduledExecutorService longWorkers,
      @Nullable ClusterRequests cluster) {
    this.routes = routes;
    this.access = access;
    this.gate = gate;
    this.problems = problems;
    this.limits = limits;
    this.longWorkers = longWorkers;
    this.cluster = cluster;
    this.unsent = new UnsentResponses.Total(limits);
  }

  /** Whether the request has been received as far as needed and handed to its handler. */
  static boolean hasBegun(ServiceRequestContext context) {
    return context.hasAttr(BEGUN);
  }

  @Override
  public HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
    Channel channel =
        context.sessionProtocol().isMultiplex() ? null : context.log().partial().channel();
    return channel == null
        ? begin(context, request)
        : Http1Pipelining.of(channel).answer(context, request, this::begin, limits.requestTime());
  }

  private HttpResponse begin(ServiceRequestContext context, HttpRequest request) {
    HttpResponse answer;
    try {
      answer = dispatch(context, request);
    } catch (Throwable e) {
      answer = problems.response(context, e).toHttpResponse();
    }
    UnsentResponses.watch(context, answer, unsent);
    return answer;
  }

  private HttpResponse dispatch(ServiceRequestContext context, HttpRequest request) {
    RequestHeaders headers = request.headers();
    String target = context.rawPath();
    int mark = target.indexOf('?');
    Routes.Match match = routes.find(mark < 0 ? target : target.substring(0, mark));
    boolean mayWrite = access.check(headers, match != null && match.route().isOpen());
    gate.requireOpen();
    if (match == null) {
      throw Problem.noSuchResource();
    }
    Operation operation = match.route().operations().get(headers.method());
    if (operation == null) {
      throw Problem.notAllowed(match.route().operations().keySet());
    }
    if (!mayWrite && !match.route().isRead(headers.method())) {
      throw Problem.of(HttpStatus.FORBIDDEN, "read-only-token", "this token only reads");
    }
    @Nullable String query = mark < 0 ? null : target.substring(mark + 1);
    if (cluster != null) {
      query = cluster.begin(context, match.route(), query);
    }
    Exchange exchange =
        new Exchange(context, headers, match.route(), match.values(), query, NO_BODY, null);
    long begin = System.nanoTime();
    HttpResponse atOnce = onLoop(operation, exchange, begin);
    return atOnce == null ? elsewhere(operation, exchange, request, begin) : atOnce;
  }

  /** Answers on the event loop, or returns null if that might block. */
  private @Nullable HttpResponse onLoop(Operation operation, Exchange exchange, long begin) {
    LoopHandler handler = operation.onLoop();
    long start = System.nanoTime();
    if (handler == null || !loopReads.areAllowed(start)) {
      return null;
    }
    HttpResponse answer;
    try {
      if (cluster != null && !cluster.isAtOnce(exchange.context())) {
        return null;
      }
      answer = handled(handler::answer, exchange);
    } catch (Throwable e) {
      operation.kind().refuse();
      answer = problems.response(exchange.context(), e).toHttpResponse();
    }
    long end = System.nanoTime();
    loopReads.took(start, end);
    if (answer != null) {
      operation.kind().record(end - begin);
    }
    return answer;
  }

  private HttpResponse elsewhere(
      Operation operation, Exchange exchange, HttpRequest request, long begin) {
    ServiceRequestContext context = exchange.context();
    AdmissionControl.Visit visit = gate.enter();
    CompletableFuture<HttpResponse> answer = new CompletableFuture<>();
    HttpResponse response = HttpResponse.of(answer);
    CompletableFuture<?> unusedEnd =
        response.whenComplete().whenComplete((nothing, failure) -> visit.partIsDone());
    CompletableFuture<?> barrier =
        cluster == null || operation.onLoop() == null ? null : cluster.barrier(context);
    if (barrier == null) {
      receive(operation, exchange, request, answer, visit);
      return response;
    }
    // No thread waits for the cluster: many reads share an entry of its log.
    context.setAttr(BEGUN, true);
    CompletableFuture<?> unusedBarrier =
        barrier.whenCompleteAsync(
            (nothing, failure) -> {
              HttpResponse atOnce =
                  failure == null
                      ? onLoop(operation, exchange, begin)
                      : refused(operation, context, failure);
              if (atOnce == null) {
                receive(operation, exchange, request, answer, visit);
              } else {
                visit.partIsDone();
                answer.complete(atOnce);
              }
            },
            context.eventLoop());
    return response;
  }

  private HttpResponse refused(
      Operation operation, ServiceRequestContext context, Throwable failure) {
    operation.kind().refuse();
    return problems.response(context, failure).toHttpResponse();
  }

  private void receive(
      Operation operation,
      Exchange exchange,
      HttpRequest request,
      CompletableFuture<HttpResponse> answer,
      AdmissionControl.Visit visit) {
    ServiceRequestContext context = exchange.context();
    CompletableFuture<?> unusedBody =
        received(operation, exchange, request, visit)
            .whenComplete(
                (body, failure) -> {
                  if (failure != null) {
                    operation.kind().refuse();
                    // The time counts from the end of the body, which did not come.
                    operation.kind().record(0);
                    answer.complete(problems.response(context, failure).toHttpResponse());
                    visit.partIsDone();
                  } else {
                    work(operation, exchange, body, answer, visit);
                  }
                });
  }

  private void work(
      Operation operation,
      Exchange exchange,
      byte[] body,
      CompletableFuture<HttpResponse> answer,
      AdmissionControl.Visit visit) {
    exchange.context().setAttr(BEGUN, true);
    if (operation.time() == Time.ANY) {
      exchange.context().clearRequestTimeout();
    }
    long start = System.nanoTime();
    Exchange whole = body.length == 0 ? exchange : exchange.with(body, visit);
    Consumer<HttpResponse> done =
        made -> {
          operation.kind().record(System.nanoTime() - start);
          // Before the client gets the answer: it may send its next request at once.
          visit.partIsDone();
          answer.complete(made);
        };
    exchange
        .context()
        .blockingTaskExecutor()
        .execute(
            () -> {
              HttpResponse made = answered(operation, operation.handler(), whole);
              Handler handler = operation.longHandler();
              if (made != null || handler == null) {
                done.accept(Objects.requireNonNull(made, "answer"));
              } else {
                longWorkers.execute(
                    () -> {
                      HttpResponse late = answered(operation, handler::answer, whole);
                      done.accept(Objects.requireNonNull(late, "answer"));
                    });
              }
            });
  }

  private int bytesMax(Body body) {
    return switch (body) {
      case NONE -> 0;
      case VALUE -> limits.valueBytesMax();
      case DOCUMENT -> limits.documentBytesMax();
    };
  }

  private CompletableFuture<byte[]> received(
      Operation operation, Exchange exchange, HttpRequest request, AdmissionControl.Visit visit) {
    int bytesMax = bytesMax(operation.body());
    if (bytesMax == 0) {
      return CompletableFuture.completedFuture(NO_BODY);
    }
    try {
      return BodyReader.read(exchange.context(), request, limits, bytesMax, visit);
    } catch (Throwable e) {
      // Including lack of memory: the visit has to end and release its bytes in any case.
      return CompletableFuture.failedFuture(e);
    }
  }

  private @Nullable HttpResponse handled(ShortHandler handler, Exchange exchange) {
    return cluster == null ? handler.answer(exchange) : cluster.answer(handler, exchange);
  }

  private @Nullable HttpResponse answered(
      Operation operation, ShortHandler handler, Exchange exchange) {
    try {
      if (exchange.context().isCancelled()) {
        // The client has gone, and nothing has been done yet.
        return HttpResponse.of(HttpStatus.SERVICE_UNAVAILABLE);
      }
      return handled(handler, exchange);
    } catch (Throwable e) {
      operation.kind().refuse();
      return problems.response(exchange.context(), e).toHttpResponse();
    }
  }
}
