package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import io.kvsep.ChangeFeed;
import io.kvsep.KvStore;
import io.kvsep.Snapshot;
import io.kvsep.error.ChangesLostException;
import io.netty.util.AsciiString;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * {@code /v1/changes}: sends changes as server-sent events until the client disconnects. A feed
 * occupies a thread only while it reads changes; it polls at least about fifty times a second.
 */
final class ChangeFeedApi {
  static final String EVENTS = "text/event-stream";
  static final Set<String> PARAMETERS = Set.of("after", "prefix", "prefix64", "keysOnly");

  private static final AsciiString LAST_EVENT_ID = AsciiString.cached("last-event-id");

  private final KvStore store;
  private final KeyspaceCache keyspaces;
  private final AdmissionControl gate;
  private final FeedEvents.Surroundings surroundings;
  private final Set<FeedEvents> open = ConcurrentHashMap.newKeySet();

  ChangeFeedApi(
      KvStore store,
      KeyspaceCache keyspaces,
      AdmissionControl gate,
      FeedEvents.Surroundings surroundings) {
    this.store = store;
    this.keyspaces = keyspaces;
    this.gate = gate;
    this.surroundings = surroundings;
  }

  private record Begun(ChangeFeed feed, long after) {}

  HttpResponse changes(Exchange exchange) {
    requireEvents(exchange);
    Parameters parameters = exchange.parameters(PARAMETERS);
    boolean keysOnly = parameters.flag("keysOnly");
    Long after = after(exchange, parameters);
    String keyspace = exchange.keyspace();
    Integer keyspaceId = keyspace == null ? null : keyspaces.existing(keyspace).id();
    FeedFilter filter = new FeedFilter(keyspaceId, parameters.bytes("prefix"));
    gate.openFeed();
    FeedEvents events;
    try {
      Begun begun = after == null ? fromNow() : new Begun(store.changes(after), after);
      requireThere(keyspace, keyspaceId, begun.feed());
      events =
          new FeedEvents(
              surroundings,
              exchange.context(),
              begun.feed(),
              begun.after(),
              filter,
              keysOnly,
              this::closed);
    } catch (Throwable e) {
      gate.closeFeed();
      throw e;
    }
    open.add(events);
    if (gate.isStopping()) {
      events.stop();
    }
    return StreamedAnswer.of(
        ResponseHeaders.of(
            HttpStatus.OK,
            HttpHeaderNames.CONTENT_TYPE,
            EVENTS,
            HttpHeaderNames.CACHE_CONTROL,
            "no-store"),
        events,
        exchange.context());
  }

  /** Throws if the keyspace was dropped before the feed began: the feed would never report it. */
  private void requireThere(
      @Nullable String keyspace, @Nullable Integer keyspaceId, ChangeFeed feed) {
    if (keyspace == null) {
      return;
    }
    boolean there = false;
    try {
      there = Objects.equals(keyspaces.existing(keyspace).id(), keyspaceId);
    } finally {
      if (!there) {
        feed.close();
      }
    }
    if (!there) {
      throw Problem.of(HttpStatus.NOT_FOUND, "no-such-keyspace", "it was dropped just now");
    }
  }

  /** Ends all feeds. The gate must already be stopped, so that no more are opened. */
  void stop() {
    open.forEach(FeedEvents::stop);
  }

  private void closed(FeedEvents events) {
    open.remove(events);
    gate.closeFeed();
  }

  /**
   * Begins after the newest commit. Retries if a bulk load has just lost the changes at that
   * position; the position soon moves past it.
   */
  private Begun fromNow() {
    while (true) {
      try (Snapshot now = store.snapshot()) {
        return new Begun(store.changes(now.sequence()), now.sequence());
      } catch (ChangesLostException e) {
        Thread.onSpinWait();
      }
    }
  }

  /**
   * The header overrides the parameter: a reconnecting client repeats its first request and adds
   * its progress in the header. Null for changes from now on.
   */
  private static @Nullable Long after(Exchange exchange, Parameters parameters) {
    Long asked = parameters.whole("after");
    String last = exchange.headers().get(LAST_EVENT_ID, "");
    Long after = asked;
    if (!last.isEmpty()) {
      try {
        after = Long.valueOf(last);
      } catch (NumberFormatException e) {
        throw Problem.malformed("Last-Event-ID is none of a change feed");
      }
    }
    if ((after != null && after < 0) || (asked != null && asked < 0)) {
      throw Problem.malformed("sequence numbers are not negative");
    }
    return after;
  }

  private static void requireEvents(Exchange exchange) {
    String accept = exchange.headers().get(HttpHeaderNames.ACCEPT, "*/*").toLowerCase(Locale.ROOT);
    if (!accept.contains(EVENTS) && !accept.contains("*/*") && !accept.contains("text/*")) {
      throw Problem.of(HttpStatus.NOT_ACCEPTABLE, "not-acceptable", "there is " + EVENTS);
    }
  }
}
