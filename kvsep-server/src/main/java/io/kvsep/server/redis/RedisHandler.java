package io.kvsep.server.redis;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.concurrent.Future;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One connection on its event loop: decodes commands, passes them to the {@link CommandExecutor}
 * and sends the replies. Never waits.
 *
 * <p>Nothing is read from a client that has too many unanswered commands or does not take its
 * replies. A client that takes too few bytes of them in some time is closed, and so is one that
 * does not send the rest of a long command. Commands of a client that has not authenticated are
 * decoded one at a time.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write ends in exceptionCaught.
final class RedisHandler extends ChannelInboundHandlerAdapter implements Session.Outlet {
  /** Bytes of unanswered commands; one more command is read beyond. */
  private static final long UNANSWERED_BYTES_MAX = 256 << 10;

  /** Long replies are sent in pieces, so that their progress is visible. */
  private static final int PIECE_BYTES = 64 << 10;

  /**
   * Bytes that must arrive of a command with a reservation, or be taken of the replies, in each
   * interval.
   */
  private static final int MOVING_BYTES_MIN = 64 << 10;

  private final ServerState server;
  private final CommandExecutor lane;
  private final CommandDecoder decoder;
  private final Deque<ByteBuf> unread = new ArrayDeque<>();
  private List<Request> requests = new ArrayList<>();
  private @Nullable ChannelHandlerContext context;
  private @Nullable Session session;
  private int unanswered;
  private long unansweredBytes;
  private boolean laneHasMore;

  /** Whether no more commands are taken: the input was invalid, or the connection ends. */
  private boolean deaf;

  private boolean inputEnded;

  /** Timer for the client to take its replies; null if none runs. */
  private @Nullable Future<?> patience;

  /** Unsent bytes when that timer started, plus those written since. */
  private long awaited;

  /** Bytes of this connection that {@link UnsentReplies} counts. */
  private long unsentBytes;

  /** Whether a marker is in the output that shows when all replies before it are sent. */
  private boolean isMarked;

  /** Timer for the rest of a long command. */
  private @Nullable Future<?> arrival;

  private long received;
  private long sent;
  private @Nullable Future<?> authentication;

  RedisHandler(ServerState server, CommandExecutor lane) {
    this.server = server;
    this.lane = lane;
    this.decoder =
        new CommandDecoder(server.options().limits(), server.budget(), lane.wholeCommands());
  }

  @Override
  public void channelActive(ChannelHandlerContext active) {
    context = active;
    Channel channel = active.channel();
    if (server.connections() >= server.options().limits().connections()) {
      server.refused();
      deaf = true;
      ByteBuf refusal =
          Unpooled.copiedBuffer(
              "-ERR max number of clients reached\r\n", StandardCharsets.US_ASCII);
      active.writeAndFlush(refusal).addListener(ChannelFutureListener.CLOSE);
      return;
    }
    Session opened =
        new Session(
            server.nextId(), channel, lane.newReplies(), this, server.options().clock().millis());
    opened.trusted = server.options().token() == null;
    session = opened;
    server.add(opened);
    if (!opened.trusted) {
      awaitToken(active, opened);
    }
  }

  /**
   * Starts the timer for authentication. It starts again only when an authenticated client sends
   * RESET.
   */
  private void awaitToken(ChannelHandlerContext active, Session stranger) {
    cancel(authentication);
    stranger.estranged = false;
    long millis = server.options().limits().authentication().toMillis();
    authentication =
        active
            .channel()
            .eventLoop()
            .schedule(() -> closeStranger(active, stranger), millis, TimeUnit.MILLISECONDS);
  }

  private void closeStranger(ChannelHandlerContext active, Session stranger) {
    // After RESET the timer starts again when the reply is delivered.
    if (!stranger.trusted && !stranger.estranged) {
      active.close();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext active, Object message) {
    ByteBuf bytes = (ByteBuf) message;
    if (deaf || session == null) {
      bytes.release();
      return;
    }
    received += bytes.readableBytes();
    session.receivedBytes.lazySet(received);
    server.bytesReceived().add(bytes.readableBytes());
    keep(bytes);
    decode(session);
    updateReading(active);
  }

  @SuppressWarnings("ReferenceEquality") // Identity is meant.
  private void keep(ByteBuf bytes) {
    try {
      unread.addLast(bytes);
    } catch (OutOfMemoryError e) {
      // A deque adds the element before it grows. If growing fails, it seems to be empty.
      if (unread.peekLast() == bytes) {
        unread.pollLast();
      }
      bytes.release();
      deaf = true;
      throw e;
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext active) {
    submit(active);
  }

  private void decode(Session from) {
    int before = unanswered;
    try {
      while (!unread.isEmpty() && mayDecode(from)) {
        ByteBuf bytes = unread.getFirst();
        Request request = decoder.next(bytes, from.trusted);
        if (request == null) {
          unread.removeFirst().release();
        } else {
          accept(request);
        }
      }
    } catch (ProtocolException e) {
      accept(Request.broken(String.valueOf(e.getMessage())));
      stopListening();
    } catch (RuntimeException | Error e) {
      // The start of the next command is unknown.
      deaf = true;
      throw e;
    } finally {
      // Also after an exception: the count is reduced when the connection ends.
      if (unanswered > before) {
        server.underWay().addAndGet(unanswered - before);
      }
    }
  }

  private void accept(Request request) {
    try {
      requests.add(request);
    } catch (RuntimeException | Error e) {
      server.budget().release(request.reservedBytes);
      throw e;
    }
    unanswered++;
    unansweredBytes += request.heapBytes();
  }

  private boolean mayDecode(Session from) {
    return !deaf
        && unansweredBytes < UNANSWERED_BYTES_MAX
        && unanswered < (from.trusted ? server.options().limits().pipelined() : 1);
  }

  private void submit(ChannelHandlerContext active) {
    boolean any = laneHasMore || !requests.isEmpty();
    if (any && session != null && active.channel().isWritable()) {
      CommandExecutor.Turn turn = new CommandExecutor.Turn(session, requests, null);
      requests = new ArrayList<>();
      laneHasMore = false;
      lane.arrive(turn);
    }
  }

  private void updateReading(ChannelHandlerContext active) {
    boolean reads =
        session != null
            && !deaf
            && unread.isEmpty()
            && mayDecode(session)
            && active.channel().isWritable();
    if (active.channel().config().isAutoRead() != reads) {
      active.channel().config().setAutoRead(reads);
    }
    if (!reads || !decoder.isReserving()) {
      cancel(arrival);
      arrival = null;
    } else if (arrival == null) {
      awaitRest(active);
    }
  }

  /** Closes a connection that holds a reservation for a command and does not send it. */
  private void awaitRest(ChannelHandlerContext active) {
    long before = received;
    arrival =
        active
            .channel()
            .eventLoop()
            .schedule(
                () -> {
                  if (received - before < MOVING_BYTES_MIN) {
                    active.close();
                  } else {
                    awaitRest(active);
                  }
                },
                server.options().limits().slowReader().toMillis(),
                TimeUnit.MILLISECONDS);
  }

  /** Reads no more commands; commands already read are answered. Called on the event loop. */
  void stopListening() {
    deaf = true;
    unread.forEach(ByteBuf::release);
    unread.clear();
    decoder.close();
    if (context != null) {
      updateReading(context);
    }
  }

  @Override
  public void deliver(RoundReplies delivery) {
    ChannelHandlerContext active = context;
    if (active == null || session == null) {
      delivery.replies().release();
      return;
    }
    unanswered -= delivery.answered();
    unansweredBytes -= delivery.answeredBytes();
    server.underWay().addAndGet(-delivery.answered());
    laneHasMore |= delivery.hasMore();
    if (session.estranged) {
      awaitToken(active, session);
    }
    send(active, delivery.replies());
    if (delivery.closing()) {
      stopListening();
      closeWhenSent(active);
      return;
    }
    decode(session);
    submit(active);
    updateReading(active);
    closeWhenDone(active);
  }

  private void send(ChannelHandlerContext active, ByteBuf replies) {
    if (!replies.isReadable()) {
      replies.release();
      return;
    }
    long before = unsent(active);
    sent += replies.readableBytes();
    server.bytesSent().add(replies.readableBytes());
    if (session != null) {
      session.sentBytes.lazySet(sent);
    }
    while (replies.readableBytes() > PIECE_BYTES) {
      active.write(replies.readRetainedSlice(PIECE_BYTES), active.voidPromise());
    }
    active.write(replies, active.voidPromise());
    active.flush();
    awaited += Math.max(0, unsent(active) - before);
    countUnsent(active);
  }

  /** Bytes written that the socket has not taken, with the overhead of keeping them. */
  private static long unsent(ChannelHandlerContext active) {
    ChannelOutboundBuffer waiting = active.channel().unsafe().outboundBuffer();
    return waiting == null ? 0 : waiting.totalPendingWriteBytes() - waiting.currentProgress();
  }

  /** Counts the bytes that the client has not taken, and starts its timer. */
  private void countUnsent(ChannelHandlerContext active) {
    long now = unsent(active);
    boolean tooMuch = server.unsent().change(unsentBytes, now);
    unsentBytes = now;
    if (session != null) {
      session.unsentBytes.lazySet(now);
    }
    if (tooMuch) {
      stopListening();
      // Not closed right here, because the caller goes on with the connection.
      active.channel().eventLoop().execute(active::close);
    } else if (now > 0 && !isMarked) {
      isMarked = true;
      active
          .writeAndFlush(Unpooled.EMPTY_BUFFER)
          .addListener(
              gone ->
                  // The marker itself counts as unsent until this listener returns.
                  active.channel().eventLoop().execute(() -> passMark(active)));
      awaitReader(active);
    }
  }

  private void passMark(ChannelHandlerContext active) {
    isMarked = false;
    cancel(patience);
    patience = null;
    countUnsent(active);
  }

  private static void closeWhenSent(ChannelHandlerContext active) {
    active.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
  }

  /** A client may shut down its output and still wait for replies. */
  private void closeWhenDone(ChannelHandlerContext active) {
    if (inputEnded && unanswered == 0 && unread.isEmpty()) {
      closeWhenSent(active);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext active, Object event) throws Exception {
    if (event instanceof ChannelInputShutdownEvent) {
      inputEnded = true;
      submit(active);
      closeWhenDone(active);
    }
    super.userEventTriggered(active, event);
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext active) {
    if (active.channel().isWritable()) {
      submit(active);
    }
    updateReading(active);
  }

  /**
   * Closes a connection that takes too little within the time: less than {@link #MOVING_BYTES_MIN},
   * and not everything up to the marker.
   */
  private void awaitReader(ChannelHandlerContext active) {
    awaited = unsent(active);
    patience =
        active
            .channel()
            .eventLoop()
            .schedule(
                () -> {
                  if (awaited - unsent(active) < MOVING_BYTES_MIN) {
                    active.close();
                  } else {
                    awaitReader(active);
                  }
                },
                server.options().limits().slowReader().toMillis(),
                TimeUnit.MILLISECONDS);
  }

  @Override
  public void channelInactive(ChannelHandlerContext active) {
    deaf = true;
    unread.forEach(ByteBuf::release);
    unread.clear();
    decoder.close();
    boolean unusedVerdict = server.unsent().change(unsentBytes, 0);
    unsentBytes = 0;
    cancel(patience);
    cancel(arrival);
    cancel(authentication);
    Session closed = session;
    if (closed != null) {
      session = null;
      closed.gone = true;
      server.underWay().addAndGet(-unanswered);
      // The executor has not seen these requests, and no client waits for replies.
      for (int i = 0; i < requests.size(); i++) {
        server.budget().release(requests.get(i).reservedBytes);
      }
      requests.clear();
      lane.arrive(closed.nothingNew);
      server.remove(closed);
    }
  }

  private static void cancel(@Nullable Future<?> timer) {
    if (timer != null) {
      timer.cancel(false);
    }
  }

  /** The connection is unusable: reset by the client, or not valid TLS. */
  @Override
  public void exceptionCaught(ChannelHandlerContext active, Throwable cause) {
    active.close();
  }
}
