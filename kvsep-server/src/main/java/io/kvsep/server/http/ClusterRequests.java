package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterNode.Reads;
import io.kvsep.server.cluster.LogPosition;
import io.netty.util.AsciiString;
import io.netty.util.AttributeKey;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What a node of a cluster does with each request beside its operation: how new its reads must be,
 * where it is redirected, and the index that its answer carries. Thread safe.
 */
final class ClusterRequests {
  static final AsciiString INDEX = AsciiString.cached("kvsep-raft-index");
  static final AsciiString MIN_INDEX = AsciiString.cached("kvsep-min-index");

  private static final String CONSISTENCY = "consistency=";
  private static final AttributeKey<Wanted> WANTED =
      AttributeKey.valueOf(ClusterRequests.class, "wanted");

  /** Of requests about this node, which other nodes have no part in. */
  private static final Wanted LOCAL = new Wanted(Reads.STALE, LogPosition.NONE, false);

  private final ClusterNode node;
  private final Map<String, String> redirects;

  /** How new the reads of a request must be, and whether its answer carries an index. */
  private record Wanted(Reads reads, LogPosition least, boolean hasIndex) {}

  /**
   * @param redirects addresses of other nodes' servers by their names; empty to forward requests
   */
  ClusterRequests(ClusterNode node, Map<String, String> redirects) {
    if (!redirects.isEmpty() && node.shards() > 1) {
      throw new IllegalArgumentException(
          "with several shards there is no leader of all to redirect clients to");
    }
    this.node = node;
    this.redirects = redirects;
  }

  /**
   * Notes what the request asks for and returns its query without that. Throws if it is for another
   * node.
   */
  @Nullable String begin(ServiceRequestContext context, Route route, @Nullable String query) {
    if (route.isLocal()) {
      context.setAttr(WANTED, LOCAL);
      return query;
    }
    RequestHeaders headers = context.request().headers();
    boolean isRead = route.isRead(headers.method());
    Reads reads = Reads.LINEARIZABLE;
    String rest = query;
    if (isRead && query != null && query.contains(CONSISTENCY)) {
      StringBuilder others = new StringBuilder();
      for (String part : query.split("&", -1)) {
        if (part.startsWith(CONSISTENCY)) {
          reads = reads(part.substring(CONSISTENCY.length()));
        } else {
          others.append(others.isEmpty() ? "" : "&").append(part);
        }
      }
      rest = others.isEmpty() ? null : others.toString();
    }
    if (!redirects.isEmpty() && reads != Reads.STALE && route.mayRedirect()) {
      requireLeader(context);
    }
    context.setAttr(WANTED, new Wanted(reads, least(headers), true));
    return rest;
  }

  /** Whether reads of the request need not wait for other nodes. */
  boolean isAtOnce(ServiceRequestContext context) {
    Wanted wanted = wanted(context);
    return wanted.reads == Reads.STALE && node.hasApplied(wanted.least);
  }

  /**
   * Completes when it is known what a linearizable read must see, which then is a stale read of at
   * least that. Null if the thread of the request has to wait.
   */
  @Nullable CompletableFuture<Void> barrier(ServiceRequestContext context) {
    Wanted wanted = wanted(context);
    CompletableFuture<LogPosition> barrier =
        wanted.reads == Reads.LINEARIZABLE ? node.barrier() : null;
    return barrier == null
        ? null
        : barrier.thenAccept(
            seen -> {
              LogPosition least = wanted.least.max(seen);
              context.setAttr(WANTED, new Wanted(Reads.STALE, least, wanted.hasIndex));
            });
  }

  /** Runs a handler on this thread and adds the index to its answer. */
  @Nullable HttpResponse answer(Route.ShortHandler handler, Exchange exchange) {
    Wanted wanted = wanted(exchange.context());
    try (ClusterNode.Call call = node.begin(wanted.reads, wanted.least)) {
      HttpResponse answer;
      try {
        answer = handler.answer(exchange);
      } catch (IllegalStateException e) {
        if (!call.written().isEmpty()) {
          throw e;
        }
        // The cache had a keyspace that another node has dropped.
        answer = handler.answer(exchange);
      } catch (Problem e) {
        LogPosition index = wanted.hasIndex ? call.position() : LogPosition.NONE;
        throw index.isEmpty() ? e : e.header(INDEX, index.toString());
      }
      LogPosition index = answer == null || !wanted.hasIndex ? LogPosition.NONE : call.position();
      return answer == null || index.isEmpty()
          ? answer
          : answer.mapHeaders(headers -> headers.toBuilder().set(INDEX, index.toString()).build());
    }
  }

  private static Wanted wanted(ServiceRequestContext context) {
    return Objects.requireNonNull(context.attr(WANTED), "begun");
  }

  private void requireLeader(ServiceRequestContext context) {
    String leader = node.leader(0);
    if (leader == null) {
      throw unavailable("the cluster has no leader");
    }
    String address = leader.equals(node.nodeId()) ? null : redirects.get(leader);
    if (address != null) {
      throw Problem.of(HttpStatus.TEMPORARY_REDIRECT, "not-leader", "the leader is " + leader)
          .header(HttpHeaderNames.LOCATION, address + context.rawPath());
    }
  }

  static Problem unavailable(String detail) {
    return Problem.of(HttpStatus.SERVICE_UNAVAILABLE, "cluster-unavailable", detail)
        .header(HttpHeaderNames.RETRY_AFTER, "1");
  }

  private static Reads reads(String text) {
    for (Reads reads : Reads.values()) {
      if (reads.name().toLowerCase(Locale.ROOT).equals(text)) {
        return reads;
      }
    }
    throw Problem.malformed("consistency is linearizable, leader or stale");
  }

  private LogPosition least(RequestHeaders headers) {
    String text = headers.get(MIN_INDEX);
    if (text == null) {
      return LogPosition.NONE;
    }
    LogPosition least = LogPosition.parse(text, node.shards());
    if (least == null) {
      throw Problem.malformed(
          "Kvsep-Min-Index is no index" + (node.shards() == 1 ? "" : ", such as SHARD:INDEX"));
    }
    return least;
  }
}
