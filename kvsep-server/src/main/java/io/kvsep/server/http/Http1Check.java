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
 * What RFC 9112 wants refused of HTTP/1.1 and the library does not, nor shows to services: above
 * all a body of an encoding that is not known, which it takes for none. So the bytes of that body
 * would be the next requests, of whoever has written them, and not of whoever sends them.
 *
 * <p>Sits between the codec and what the library makes requests with. That gets a request it cannot
 * but refuse, so that the answer comes in its turn behind those of requests before, and the
 * connection ends with it; nothing that comes behind gets through.
 *
 * <p>Behind the last answer of a connection it ends the output. The library closes the connection
 * three seconds later, so that a client can still send the rest of a body that was refused; a
 * client that reads to the end would wait for as long.
 */
final class Http1Check extends ChannelDuplexHandler {
  private final Routes routes;
  private boolean hasRefused;

  /** Requests whose answers are not written yet. */
  private int unanswered;

  private boolean isInformational;
  private boolean isClosing;

  private Http1Check(Routes routes) {
    this.routes = routes;
  }

  /**
   * Has the requests of a connection checked, once the library knows that they are of HTTP/1.1.
   *
   * @param pipeline with all the library has put there before anything is read
   */
  static void addTo(ChannelPipeline pipeline, boolean isEncrypted, Routes routes) {
    Placing placing = new Placing(routes);
    if (isEncrypted) {
      // What is decrypted gets there when the protocol has been agreed on, and in front of the
      // codec, which is put behind it.
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
    // Without its headers, by which the library could take it for an upgrade to HTTP/2.
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
    // Once the last request is known, answers of those before it tell of closing too.
    if (message instanceof LastHttpContent && !isInformational && --unanswered == 0 && isClosing) {
      ChannelFuture unusedEnd = written.addListener(done -> endOutput(context.channel()));
    }
    ChannelFuture unusedWrite = context.write(message, written);
  }

  private static void endOutput(Channel channel) {
    // With encryption the end is a message of its own, which the library sends when it closes.
    if (channel instanceof DuplexChannel duplex
        && channel.pipeline().get(SslHandler.class) == null) {
      ChannelFuture unusedEnd = duplex.shutdownOutput();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    // The library would warn of what it does not expect.
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

  /** Whether the library answers it without any service. */
  private static boolean isUnknown(HttpMethod method) {
    var known = com.linecorp.armeria.common.HttpMethod.tryParse(method.name());
    return known == null || known == com.linecorp.armeria.common.HttpMethod.CONNECT;
  }

  /**
   * Waits until the library has its codec. Without encryption it puts that where it wants it, and
   * by the first bytes; these are handed on singly, which is less than any request.
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
      // The library's own, of a class that is not public; nothing else there is of this kind.
      ChannelHandlerContext codec = pipeline.context(CombinedChannelDuplexHandler.class);
      if (codec == null) {
        return pipeline.context(Http2ConnectionHandler.class) != null;
      }
      pipeline.addAfter(codec.name(), null, new Http1Check(routes));
      return true;
    }
  }
}
