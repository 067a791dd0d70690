package io.kvsep.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Refuses HTTP/1.1 requests that RFC 9112 forbids but Armeria accepts without showing them to
 * services. Above all, Armeria treats a body with an unknown transfer encoding as no body; its
 * bytes would then be parsed as further requests (request smuggling).
 *
 * <p>Sits between the codec and Armeria's request decoder. Passes on a failed request instead, so
 * the refusal is sent in order after earlier answers and the connection is closed. Drops everything
 * received after that.
 *
 * <p>Shuts down the output after the last answer. Armeria closes the connection three seconds
 * later, so that the client can send the rest of a refused body; a client that reads to the end
 * would wait as long.
 */
final class Http1Check extends ChannelDuplexHandler {
  private final Routes routes;
  private boolean hasRefused;

  /** Requests whose answers have not been written yet. */
  private int unanswered;

  private boolean isInformational;
  private boolean isClosing;

  private Http1Check(Routes routes) {
    this.routes = routes;
  }

  /**
   * Checks the requests of a connection once Armeria has found that it speaks HTTP/1.1.
   *
   * @param pipeline with Armeria's handlers, before anything is read
   */
  static void addTo(ChannelPipeline pipeline, boolean isEncrypted, Routes routes) {
    Placing placing = new Placing(routes);
    if (isEncrypted) {
      // Decrypted bytes arrive here after the protocol has been negotiated, before they reach the
      // codec, which is added last.
      pipeline.addLast(placing);
    } else {
      pipeline.addFirst(placing);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (hasRefused) {
      ReferenceCountUtil.release(message);
      return;
    }
    if (message instanceof HttpRequest) {
      unanswered++;
    }
    Problem problem =
        message instanceof HttpRequest request && request.decoderResult().isSuccess()
            ? problem(request)
            : null;
    if (problem == null) {
      context.fireChannelRead(message);
      return;
    }
    hasRefused = true;
    ReferenceCountUtil.release(message);
    // Without headers, by which Armeria could take it for an upgrade to HTTP/2.
    HttpRequest refused = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/");
    refused.setDecoderResult(DecoderResult.failure(problem));
    context.fireChannelRead(refused);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    if (message instanceof HttpResponse answer) {
      isInformational = answer.status().codeClass() == HttpStatusClass.INFORMATIONAL;
      isClosing = answer.headers().contains("connection", "close", /* ignoreCase= */ true);
    }
    ChannelPromise written = promise.unvoid();
    // Once the last request is known, answers to earlier requests announce the close too.
    if (message instanceof LastHttpContent && !isInformational && --unanswered == 0 && isClosing) {
      ChannelFuture unusedEnd = written.addListener(done -> endOutput(context.channel()));
    }
    ChannelFuture unusedWrite = context.write(message, written);
  }

  private static void endOutput(Channel channel) {
    // With TLS, Armeria sends close_notify when it closes.
    if (channel instanceof DuplexChannel duplex
        && channel.pipeline().get(SslHandler.class) == null) {
      ChannelFuture unusedEnd = duplex.shutdownOutput();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    // Armeria would log a warning about an unexpected event.
    if (!(event instanceof ChannelOutputShutdownEvent)) {
      context.fireUserEventTriggered(event);
    }
  }

  private @Nullable Problem problem(HttpRequest request) {
    HttpHeaders headers = request.headers();
    List<String> encodings = headers.getAll(HttpHeaderNames.TRANSFER_ENCODING);
    if (encodings.size() > 1
        || (encodings.size() == 1
            && !HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(encodings.get(0).strip()))) {
      return Problem.malformed("Transfer-Encoding is chunked, or left out");
    }
    int hosts = headers.getAll(HttpHeaderNames.HOST).size();
    if (hosts > 1 || (hosts == 0 && !request.protocolVersion().equals(HttpVersion.HTTP_1_0))) {
      return Problem.malformed("a request has one Host");
    }
    String target = request.uri();
    if (!Percent.isWellFormed(target)) {
      return Problem.malformed("the target has a % without two hexadecimal digits");
    }
    HttpMethod method = request.method();
    if (isUnknown(method) || (method.equals(HttpMethod.OPTIONS) && target.equals("*"))) {
      return routes.refusal(target);
    }
    return null;
  }

  /** Whether Armeria answers the method without calling a service. */
  private static boolean isUnknown(HttpMethod method) {
    var known = com.linecorp.armeria.common.HttpMethod.tryParse(method.name());
    return known == null || known == com.linecorp.armeria.common.HttpMethod.CONNECT;
  }

  /**
   * Waits until Armeria has added its codec. Without TLS Armeria chooses the codec by the first
   * bytes and places it itself. So these bytes are passed on one by one, and no whole request
   * passes unchecked.
   */
  private static final class Placing extends ChannelInboundHandlerAdapter {
    private final Routes routes;

    Placing(Routes routes) {
      this.routes = routes;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      if (!(message instanceof ByteBuf bytes)) {
        context.fireChannelRead(message);
        return;
      }
      boolean isDone = place(context.pipeline());
      while (!isDone && bytes.readableBytes() > 1) {
        context.fireChannelRead(bytes.readRetainedSlice(1));
        isDone = place(context.pipeline());
      }
      if (isDone) {
        context.pipeline().remove(this);
      }
      context.fireChannelRead(bytes);
    }

    /** Whether there is nothing left to do. */
    private boolean place(ChannelPipeline pipeline) {
      // The codec's class is not public; no other handler in the pipeline has this superclass.
      ChannelHandlerContext codec = pipeline.context(CombinedChannelDuplexHandler.class);
      if (codec == null) {
        return pipeline.context(Http2ConnectionHandler.class) != null;
      }
      pipeline.addAfter(codec.name(), null, new Http1Check(routes));
      return true;
    }
  }
}
