package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.util.TimeoutMode;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.kvsep.Change;
import io.kvsep.ChangeFeed;
import io.kvsep.error.ChangesLostException;
import io.kvsep.error.KvException;
import io.kvsep.server.json.ChangeLine;
import io.kvsep.server.json.JsonObject;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A change feed as server-sent events, in pieces of about {@value #PIECE_BYTES} bytes. A long value
 * spans several pieces.
 *
 * <pre>
 * event: start      the sequence number after which the feed begins; always first
 * id: 41
 * data: {"sequence":41}
 *
 * id: 42            a change; only the event of this change has this id
 * data: {"sequence":42, ...}
 *
 * :                 heartbeat; with an id if changes were passed over
 * id: 57
 *
 * event: lost       or problem: why the feed ends
 * data: {"type":"urn:kvsep:problem:changes-lost", ...}
 * </pre>
 *
 * <p>An id without a change is the end of a commit, after all matching changes so far. So a feed
 * that begins after any id of this one continues it without a gap or a repetition.
 */
final class FeedEvents implements StreamedAnswer.Source {
  private static final int PIECE_BYTES = 64 << 10;
  private static final int FIRST_BYTES = 1 << 10;

  /** A multiple of three, so the base64 of the parts is the base64 of the whole. */
  private static final int ENCODED_AT_ONCE = 24 << 10;

  /** How long a turn may pass over unwanted changes before other requests get the thread. */
  private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long PAUSE_MILLIS_MAX = 20;

  /** How long a client may take to read the rest when the server stops. */
  private static final long STOP_MILLIS = 1000;

  /** Shared by all feeds of a server. */
  record Surroundings(HttpLimits limits, Problems problems) {}

  private record Event(Change change, boolean more) {}

  private final Surroundings surroundings;
  private final ServiceRequestContext context;
  private final ChangeFeed feed;
  private final FeedFilter filter;
  private final boolean keysOnly;
  private final Consumer<FeedEvents> whenClosed;

  // All fields below are guarded by this.

  private final Deque<Event> ready = new ArrayDeque<>();

  /**
   * A matching change of a commit whose later changes were not read yet: {@code more} is unknown.
   */
  private @Nullable Change held;

  /** Rest of the value being sent. */
  private @Nullable ByteBuffer rest;

  /** End of the last commit read. */
  private long passed;

  /** The last id sent, -1 before the first. */
  private long told = -1;

  private boolean nothingFollows;
  private boolean isOver;
  private long lastSentNanos = System.nanoTime();
  private long pauseMillis;

  /**
   * @param after sequence number after which the feed begins
   * @param whenClosed called once at the end
   */
  FeedEvents(
      Surroundings surroundings,
      ServiceRequestContext context,
      ChangeFeed feed,
      long after,
      FeedFilter filter,
      boolean keysOnly,
      Consumer<FeedEvents> whenClosed) {
    this.surroundings = surroundings;
    this.context = context;
    this.feed = feed;
    this.passed = after;
    this.filter = filter;
    this.keysOnly = keysOnly;
    this.whenClosed = whenClosed;
  }

  @Override
  public synchronized @Nullable HttpData next() {
    if (isOver) {
      return null;
    }
    ByteBuf piece = context.alloc().buffer(FIRST_BYTES);
    try {
      fill(piece);
    } catch (Throwable e) {
      piece.release();
      throw e;
    }
    if (piece.isReadable()) {
      lastSentNanos = System.nanoTime();
      // The client has to take each piece within this time; the feed may last longer.
      context.setRequestTimeoutMillis(
          TimeoutMode.SET_FROM_NOW, surroundings.limits().requestTime().toMillis());
      return HttpData.wrap(piece);
    }
    piece.release();
    if (isOver) {
      return null;
    }
    context.clearRequestTimeout();
    return HttpData.empty();
  }

  @Override
  public synchronized long pauseMillis() {
    return pauseMillis;
  }

  /** Ends the feed, possibly within an event, which clients must then discard. */
  synchronized void stop() {
    isOver = true;
    context.setRequestTimeoutMillis(TimeoutMode.SET_FROM_NOW, STOP_MILLIS);
  }

  @Override
  public void close() {
    feed.close();
    whenClosed.accept(this);
  }

  private void fill(ByteBuf piece) {
    if (told < 0) {
      write(piece, "event: start\n");
      write(piece, "id: " + passed + "\n");
      write(piece, "data: " + new JsonObject().put("sequence", passed) + "\n\n");
      told = passed;
    }
    try {
      addChanges(piece);
    } catch (KvException e) {
      // The status has been sent already, so an event reports the error.
      String name = e instanceof ChangesLostException ? "lost" : "problem";
      String problem = surroundings.problems().response(context, e).contentUtf8();
      write(piece, "event: " + name + "\ndata: " + problem + "\n\n");
      isOver = true;
    }
    long silentNanos = System.nanoTime() - lastSentNanos;
    if (!piece.isReadable() && silentNanos >= surroundings.limits().heartbeatTime().toNanos()) {
      write(piece, ":\n");
      if (passed > told && held == null) {
        told = passed;
        write(piece, "id: " + told + "\n");
      }
      write(piece, "\n");
    }
  }

  /** Adds changes until the piece is full or no more are available yet. */
  private void addChanges(ByteBuf piece) {
    long endNanos = System.nanoTime() + TURN_NANOS;
    while (!isOver && piece.readableBytes() < PIECE_BYTES) {
      ByteBuffer value = rest;
      Event event = value == null ? ready.poll() : null;
      if (value != null) {
        goOn(piece, value);
      } else if (event != null) {
        begin(piece, event);
      } else if (nothingFollows) {
        isOver = true;
      } else if (System.nanoTime() - endNanos >= 0) {
        pauseMillis = 0;
        return;
      } else {
        Change change = feed.poll();
        if (change == null) {
          pauseMillis = piece.isReadable() ? 1 : Math.min(2 * pauseMillis + 1, PAUSE_MILLIS_MAX);
          return;
        }
        take(change);
      }
    }
  }

  private void take(Change change) {
    boolean ends = change.endsCommit();
    if (filter.takesAll()) {
      ready.add(new Event(change, !ends));
    } else {
      Change before = held;
      boolean matches = filter.matches(change);
      if (before != null && (matches || ends)) {
        ready.add(new Event(before, matches));
        held = null;
      }
      if (matches && ends) {
        ready.add(new Event(change, false));
      } else if (matches) {
        held = change;
      }
      nothingFollows = filter.endsWith(change);
    }
    if (ends) {
      passed = change.sequence();
    }
  }

  private void begin(ByteBuf piece, Event event) {
    Change change = event.change();
    told = change.sequence();
    write(piece, "id: " + told + "\ndata: ");
    if (change.kind() == Change.Kind.PUT && !keysOnly) {
      write(piece, ChangeLine.upToValue(change, event.more()));
      rest = ByteBuffer.wrap(change.value());
    } else {
      write(piece, ChangeLine.withoutValue(change, event.more()) + "\n\n");
    }
  }

  private void goOn(ByteBuf piece, ByteBuffer value) {
    byte[] some = new byte[Math.min(ENCODED_AT_ONCE, value.remaining())];
    value.get(some);
    piece.writeBytes(Base64.getEncoder().encode(some));
    if (!value.hasRemaining()) {
      write(piece, ChangeLine.END + "\n\n");
      rest = null;
    }
  }

  private static void write(ByteBuf piece, String text) {
    piece.writeCharSequence(text, UTF_8);
  }
}
