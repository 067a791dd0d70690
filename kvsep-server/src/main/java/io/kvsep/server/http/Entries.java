package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.KvWriter;
import io.kvsep.ScanOptions;
import io.kvsep.Transaction;
import io.netty.buffer.ByteBuf;
import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Single entries: {@code /v1/keys/…}, {@code /v1/keys64/…} and the same in a keyspace. */
final class Entries {
  static final AsciiString TTL_MILLIS = AsciiString.cached("kvsep-ttl-millis");
  static final AsciiString EXPIRES_AT_MILLIS = AsciiString.cached("kvsep-expires-at-millis");
  static final AsciiString DURABILITY = AsciiString.cached("kvsep-durability");

  /** Longer values are not read on an event loop. */
  private static final int LOOP_BYTES_MAX = 16 << 10;

  /** Longer values go out in pieces of this length. */
  private static final int PIECE_BYTES = 128 << 10;

  private final KvStore store;
  private final KeyspaceCache keyspaces;
  private final HttpLimits limits;

  Entries(KvStore store, KeyspaceCache keyspaces, HttpLimits limits) {
    this.store = store;
    this.keyspaces = keyspaces;
    this.limits = limits;
  }

  HttpResponse get(Exchange exchange) {
    byte[] key = exchange.key();
    KvCursor cursor = cursorAt(reader(exchange), key);
    boolean isHandedOver = false;
    try {
      if (!isAt(cursor, key)) {
        throw absent(exchange);
      }
      int length = cursor.valueLength();
      if (length <= PIECE_BYTES || exchange.isHead()) {
        return whole(exchange, cursor, length);
      }
      ByteBuffer value = cursor.valueView();
      String tag = EntityTag.of(value);
      if (Preconditions.of(exchange.headers()).isNotModified(tag)) {
        return HttpResponse.of(notModified(tag, cursor));
      }
      exchange.context().setRequestTimeoutMillis(limits.millisFor(length));
      isHandedOver = true;
      return StreamedAnswer.of(
          headers(tag, cursor, length), new Pieces(exchange, cursor, value), exchange.context());
    } finally {
      if (!isHandedOver) {
        cursor.close();
      }
    }
  }

  /** The same for short values, on an event loop; null for others. */
  @Nullable HttpResponse getOnLoop(Exchange exchange) {
    byte[] key = exchange.key();
    try (KvCursor cursor = cursorAt(reader(exchange), key)) {
      if (!isAt(cursor, key)) {
        throw absent(exchange);
      }
      int length = cursor.valueLength();
      return length > LOOP_BYTES_MAX ? null : whole(exchange, cursor, length);
    }
  }

  private static HttpResponse whole(Exchange exchange, KvCursor cursor, int length) {
    ByteBuffer value = cursor.valueView();
    String tag = EntityTag.of(value);
    if (Preconditions.of(exchange.headers()).isNotModified(tag)) {
      return HttpResponse.of(notModified(tag, cursor));
    }
    ResponseHeaders headers = headers(tag, cursor, length);
    if (exchange.isHead()) {
      return HttpResponse.of(headers);
    }
    byte[] copy = new byte[length];
    value.get(copy);
    return HttpResponse.of(headers, HttpData.wrap(copy));
  }

  HttpResponse put(Exchange exchange) {
    byte[] key = exchange.key();
    byte[] value = exchange.body();
    Duration timeToLive = timeToLive(exchange.headers());
    boolean isSynced = isSynced(exchange.headers());
    Preconditions preconditions = Preconditions.of(exchange.headers());
    if (preconditions.isEmpty()) {
      put(writer(exchange), key, value, timeToLive);
    } else {
      String keyspace = exchange.keyspace();
      KvView scope = keyspaces.view(keyspace);
      store.<@Nullable Object>transact(
          transaction -> {
            KvReader reader = scope == null ? transaction : in(transaction, keyspace);
            KvWriter writer = scope == null ? transaction : in(transaction, keyspace);
            check(preconditions, reader, key);
            put(writer, key, value, timeToLive);
            return null;
          });
    }
    syncIf(isSynced);
    return HttpResponse.of(
        ResponseHeaders.of(
            preconditions.demandsAbsence() ? HttpStatus.CREATED : HttpStatus.NO_CONTENT,
            HttpHeaderNames.ETAG,
            EntityTag.of(value)));
  }

  HttpResponse delete(Exchange exchange) {
    byte[] key = exchange.key();
    boolean isSynced = isSynced(exchange.headers());
    Preconditions preconditions = Preconditions.of(exchange.headers());
    if (preconditions.isEmpty()) {
      writer(exchange).delete(key);
    } else {
      String keyspace = exchange.keyspace();
      KvView scope = keyspaces.view(keyspace);
      store.<@Nullable Object>transact(
          transaction -> {
            KvReader reader = scope == null ? transaction : in(transaction, keyspace);
            KvWriter writer = scope == null ? transaction : in(transaction, keyspace);
            check(preconditions, reader, key);
            writer.delete(key);
            return null;
          });
    }
    syncIf(isSynced);
    return Answers.done();
  }

  void syncIf(boolean isWanted) {
    if (isWanted) {
      store.sync();
    }
  }

  /** Whether the answer is to wait until what was written is on stable storage. */
  static boolean isSynced(RequestHeaders headers) {
    String durability = headers.get(DURABILITY);
    if (durability == null) {
      return false;
    }
    if (!durability.equals("sync")) {
      throw Problem.malformed("Kvsep-Durability is sync, or left out");
    }
    return true;
  }

  private KvView in(Transaction transaction, @Nullable String keyspace) {
    return transaction.in(keyspaces.existing(String.valueOf(keyspace)));
  }

  private static void check(Preconditions preconditions, KvReader reader, byte[] key) {
    if (preconditions.asksForPresenceOnly()) {
      preconditions.requireForWrite(reader.contains(key) ? "" : null);
    } else {
      preconditions.requireForWrite(reader.read(key, EntityTag::of));
    }
  }

  private static void put(
      KvWriter writer, byte[] key, byte[] value, @Nullable Duration timeToLive) {
    if (timeToLive == null) {
      writer.put(key, value);
    } else {
      writer.put(key, value, timeToLive);
    }
  }

  private static @Nullable Duration timeToLive(RequestHeaders headers) {
    String text = headers.get(TTL_MILLIS);
    if (text == null) {
      return null;
    }
    try {
      long millis = Long.parseLong(text.strip());
      if (millis > 0) {
        return Duration.ofMillis(millis);
      }
    } catch (NumberFormatException e) {
      throw Problem.malformed("Kvsep-Ttl-Millis is no number of milliseconds");
    }
    throw Problem.malformed("Kvsep-Ttl-Millis must be above 0");
  }

  private KvReader reader(Exchange exchange) {
    KvView view = keyspaces.view(exchange.keyspace());
    return view == null ? store : view;
  }

  private KvWriter writer(Exchange exchange) {
    KvView view = keyspaces.view(exchange.keyspace());
    return view == null ? store : view;
  }

  /** A cursor, since it alone tells when an entry expires, over that one key. */
  private static KvCursor cursorAt(KvReader reader, byte[] key) {
    byte[] after = key.length == Exchange.KEY_BYTES_MAX ? null : Arrays.copyOf(key, key.length + 1);
    return reader.cursor(ScanOptions.range(key, after).limit(1).prefetch(0));
  }

  private static boolean isAt(KvCursor cursor, byte[] key) {
    return cursor.next() && cursor.keyView().equals(ByteBuffer.wrap(key));
  }

  private static Problem absent(Exchange exchange) {
    Preconditions.of(exchange.headers()).requireForWrite(null);
    return Problem.of(HttpStatus.NOT_FOUND, "no-such-key", "the key is absent");
  }

  private static ResponseHeaders headers(String tag, KvCursor cursor, int length) {
    ResponseHeadersBuilder headers = ResponseHeaders.builder(HttpStatus.OK);
    headers.contentType(MediaType.OCTET_STREAM).contentLength(length);
    return withVersion(headers, tag, cursor).build();
  }

  private static ResponseHeaders notModified(String tag, KvCursor cursor) {
    return withVersion(ResponseHeaders.builder(HttpStatus.NOT_MODIFIED), tag, cursor).build();
  }

  private static ResponseHeadersBuilder withVersion(
      ResponseHeadersBuilder headers, String tag, KvCursor cursor) {
    headers.set(HttpHeaderNames.ETAG, tag).set(HttpHeaderNames.CACHE_CONTROL, "no-cache");
    OptionalLong expiry = cursor.expiresAtMillis();
    if (expiry.isPresent()) {
      headers.setLong(EXPIRES_AT_MILLIS, expiry.getAsLong());
    }
    return headers;
  }

  /** A long value, copied out of the mapped file a piece at a time, past the heap. */
  private static final class Pieces implements StreamedAnswer.Source {
    private final Exchange exchange;
    private final KvCursor cursor;
    private final ByteBuffer value;

    Pieces(Exchange exchange, KvCursor cursor, ByteBuffer value) {
      this.exchange = exchange;
      this.cursor = cursor;
      this.value = value;
    }

    @Override
    public @Nullable HttpData next() {
      int count = Math.min(PIECE_BYTES, value.remaining());
      if (count == 0) {
        return null;
      }
      ByteBuf piece = exchange.context().alloc().buffer(count);
      piece.writeBytes(value.slice(value.position(), count));
      value.position(value.position() + count);
      return HttpData.wrap(piece);
    }

    @Override
    public void close() {
      cursor.close();
    }
  }
}
