package io.kvsep.server.http;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.util.concurrent.PromiseCombiner;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * The open connections of a server, so that it can cut them. Armeria closes an HTTP/2 connection
 * only after a GOAWAY that follows all pending writes, which is never sent if the client does not
 * read. Thread safe.
 */
final class Connections {
  private final Set<Channel> open = ConcurrentHashMap.newKeySet();

  void add(Channel channel) {
    open.add(channel);
    ChannelFuture unusedEnd = channel.closeFuture().addListener(closed -> open.remove(channel));
  }

  /**
   * Makes closing the listener close the HTTP/1.1 connections first. Armeria closes the listener
   * when no request is running or the time is up, and then waits a second for each of these
   * connections.
   */
  void closeBefore(Channel listener) {
    listener
        .pipeline()
        .addLast(
            new ChannelOutboundHandlerAdapter() {
              @Override
              public void close(ChannelHandlerContext context, ChannelPromise promise) {
                ChannelPromise closed = context.newPromise();
                ChannelFuture unusedClose =
                    closed.addListener(
                        done -> {
                          ChannelFuture unusedEnd = context.close(promise);
                        });
                closeHttp1(new PromiseCombiner(context.executor()), closed);
              }
            });
  }

  private void closeHttp1(PromiseCombiner closes, ChannelPromise closed) {
    for (Channel channel : open) {
      if (channel.pipeline().get(Http2ConnectionHandler.class) == null) {
        closes.add(channel.close());
      }
    }
    closes.finish(closed);
  }

  int count() {
    return open.size();
  }

  void cutAll() {
    open.forEach(Connections::cut);
  }

  /** Closes the channel without waiting for pending writes or handlers. */
  static void cut(Channel channel) {
    channel.eventLoop().execute(() -> channel.unsafe().close(channel.newPromise()));
  }

  /** Cuts the connection unless the client takes all bytes written so far within that time. */
  static void cutUnlessTaken(Channel channel, Duration time) {
    EventLoop loop = channel.eventLoop();
    loop.execute(
        () -> {
          ChannelPromise taken = channel.newPromise();
          channel.unsafe().write(Unpooled.EMPTY_BUFFER, taken);
          channel.unsafe().flush();
          if (!taken.isDone()) {
            Future<?> patience =
                loop.schedule(() -> cut(channel), time.toMillis(), TimeUnit.MILLISECONDS);
            ChannelFuture unusedEnd = taken.addListener(gone -> patience.cancel(false));
          }
        });
  }
}
