package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.util.TimeoutMode;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.ScanOptions;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * Ranges of keys: {@code /v1/scan}. An answer that ends before the range does ends with a cursor,
 * the last key sent. To continue, the client repeats the request with the cursor.
 */
final class Scans {
  static final MediaType LINES = MediaType.create("application", "x-ndjson");
  static final MediaType BINARY = MediaType.create("application", "vnd.kvsep.entries");

  static final Set<String> PARAMETERS =
      Set.of(
          "prefix",
          "prefix64",
          "from",
          "from64",
          "to",
          "to64",
          "limit",
          "reverse",
          "keysOnly",
          "cursor");

  private final KvStore store;
  private final KeyspaceCache keyspaces;
  private final HttpLimits limits;
  private final AdmissionControl gate;
  private final ScheduledExecutorService longWorkers;

  /**
   * @param longWorkers threads that continue a scan at long values
   */
  Scans(
      KvStore store,
      KeyspaceCache keyspaces,
      HttpLimits limits,
      AdmissionControl gate,
      ScheduledExecutorService longWorkers) {
    this.store = store;
    this.keyspaces = keyspaces;
    this.limits = limits;
    this.gate = gate;
    this.longWorkers = longWorkers;
  }

  /** Null if {@link #scanLong} has to answer. */
  @Nullable HttpResponse scan(Exchange exchange) {
    return scan(exchange, false);
  }

  /** Answers a scan that begins with a long value. */
  HttpResponse scanLong(Exchange exchange) {
    return Objects.requireNonNull(scan(exchange, true), "begun");
  }

  private @Nullable HttpResponse scan(Exchange exchange, boolean mayBeLong) {
    boolean isBinary = asksForBinary(exchange);
    Parameters parameters = exchange.parameters(PARAMETERS);
    boolean keysOnly = parameters.flag("keysOnly");
    long limit = limit(parameters);
    ScanOptions options = options(parameters);
    KvView view = keyspaces.view(exchange.keyspace());
    KvReader reader = view == null ? store : view;
    exchange
        .context()
        .setRequestTimeoutMillis(
            TimeoutMode.SET_FROM_NOW, limits.scanTime().plus(limits.requestTime()).toMillis());
    KvCursor cursor = reader.cursor(keysOnly ? options.keysOnly() : options);
    ScanPieces pieces =
        new ScanPieces(
            exchange.context(), limits, gate, cursor, limit, keysOnly, mayBeLong, longWorkers);
    StreamedAnswer.Source source = isBinary ? pieces.binary() : pieces.lines();
    HttpData first = StreamedAnswer.first(source);
    if (first != null && first.isEmpty()) {
      source.close();
      return null;
    }
    return StreamedAnswer.of(
        ResponseHeaders.of(
            HttpStatus.OK,
            HttpHeaderNames.CONTENT_TYPE,
            (isBinary ? BINARY : LINES).toString(),
            HttpHeaderNames.CACHE_CONTROL,
            "no-store"),
        source,
        first,
        exchange.context());
  }

  private static ScanOptions options(Parameters parameters) {
    byte[] prefix = parameters.bytes("prefix");
    byte[] from = parameters.bytes("from");
    byte[] to = parameters.bytes("to");
    boolean reverse = parameters.flag("reverse");
    if (prefix != null && (from != null || to != null)) {
      throw Problem.malformed("prefix goes with neither from nor to");
    }
    byte[] last = parameters.encoded("cursor");
    if (last != null) {
      if (last.length == 0) {
        throw Problem.malformed("the cursor is empty");
      }
      if (prefix != null) {
        from = prefix;
        to = firstKeyAfter(prefix);
        prefix = null;
      }
      if (reverse) {
        to = to == null || Arrays.compareUnsigned(last, to) < 0 ? last : to;
      } else {
        byte[] next =
            last.length < Exchange.KEY_BYTES_MAX
                ? Arrays.copyOf(last, last.length + 1)
                : firstKeyAfter(last);
        if (next == null) {
          throw Problem.malformed("nothing can follow this cursor");
        }
        from = from == null || Arrays.compareUnsigned(next, from) > 0 ? next : from;
      }
    }
    ScanOptions options = prefix != null ? ScanOptions.prefix(prefix) : ScanOptions.range(from, to);
    return reverse ? options.reverse() : options;
  }

  /**
   * The smallest key greater than every key that begins with {@code prefix}; null if there is none.
   */
  static byte @Nullable [] firstKeyAfter(byte[] prefix) {
    for (int i = prefix.length - 1; i >= 0; i--) {
      if (prefix[i] != (byte) 0xff) {
        byte[] after = Arrays.copyOf(prefix, i + 1);
        after[i]++;
        return after;
      }
    }
    return null;
  }

  private static long limit(Parameters parameters) {
    Long limit = parameters.whole("limit");
    if (limit != null && limit <= 0) {
      throw Problem.malformed("limit must be above 0");
    }
    return limit == null ? Long.MAX_VALUE : limit;
  }

  private static boolean asksForBinary(Exchange exchange) {
    String accept = exchange.headers().get(HttpHeaderNames.ACCEPT, "*/*").toLowerCase(Locale.ROOT);
    if (accept.contains("application/vnd.kvsep.entries")
        || accept.contains("application/octet-stream")) {
      return true;
    }
    if (accept.contains("application/x-ndjson")
        || accept.contains("*/*")
        || accept.contains("application/*")) {
      return false;
    }
    throw Problem.of(
        HttpStatus.NOT_ACCEPTABLE,
        "not-acceptable",
        "there are application/x-ndjson and application/vnd.kvsep.entries");
  }
}
