package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.common.util.TimeoutMode;
import io.kvsep.EntryInfo;
import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.KvWriter;
import io.kvsep.ScanOptions;
import io.kvsep.Snapshot;
import io.kvsep.Transaction;
import io.netty.buffer.ByteBuf;
import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Single entries: {@code /v1/keys/…}, {@code /v1/keys64/…} and the same in a keyspace. */
final class Entries {
  static final AsciiString TTL_MILLIS = AsciiString.cached("kvsep-ttl-millis");
  static final AsciiString EXPIRES_AT_MILLIS = AsciiString.cached("kvsep-expires-at-millis");
  static final AsciiString DURABILITY = AsciiString.cached("kvsep-durability");

  /** Longest value that is read on an event loop. */
  private static final int LOOP_BYTES_MAX = 16 << 10;

  /** Longer values are sent in pieces of this length. */
  static final int PIECE_BYTES = 128 << 10;

  /** Reading a longer value takes so long that short requests should not wait for it. */
  static final int LONG_BYTES = 1 << 20;

  private final KvStore store;
  private final KeyspaceCache keyspaces;
  private final HttpLimits limits;
  private final AdmissionControl gate;
  private final EntityTags tags;

  Entries(
      KvStore store,
      KeyspaceCache keyspaces,
      HttpLimits limits,
      AdmissionControl gate,
      EntityTags tags) {
    this.store = store;
    this.keyspaces = keyspaces;
    this.limits = limits;
    this.gate = gate;
    this.tags = tags;
  }

  /** Null for values that only {@link #getLong} reads. */
  @Nullable HttpResponse get(Exchange exchange) {
    HttpResponse answer = getUpTo(PIECE_BYTES, exchange, reader(exchange));
    return answer == null ? streamed(LONG_BYTES, exchange) : answer;
  }

  /** Reads a value of any length. */
  HttpResponse getLong(Exchange exchange) {
    return Objects.requireNonNull(streamed(Integer.MAX_VALUE, exchange), "no limit");
  }

  /** Reads a short value on an event loop; null for longer values and unknown keyspaces. */
  @Nullable HttpResponse getOnLoop(Exchange exchange) {
    String keyspace = exchange.keyspace();
    KvReader reader = keyspace == null ? store : keyspaces.viewIfKnown(keyspace);
    return reader == null ? null : getUpTo(LOOP_BYTES_MAX, exchange, reader);
  }

  /** Null if the answer needs a value longer than {@code valueBytesMax}. */
  private @Nullable HttpResponse getUpTo(int valueBytesMax, Exchange exchange, KvReader reader) {
    byte[] key = exchange.key();
    Found found = exchange.isHead() ? head(reader, key) : get(reader, key, valueBytesMax);
    Preconditions preconditions = Preconditions.of(exchange.headers());
    if (found == null) {
      throw absent(preconditions);
    }
    String tag = tags.of(found.info());
    if (preconditions.isNotModified(tag)) {
      return HttpResponse.of(notModified(tag, found.info()));
    }
    if (exchange.isHead()) {
      return HttpResponse.of(headers(tag, found.info(), null));
    }
    byte[] value = found.value();
    if (value == null) {
      return null;
    }
    ByteRange range = ByteRange.of(exchange.headers(), tag, value.length);
    HttpData data =
        range == null ? HttpData.wrap(value) : HttpData.wrap(value, range.first(), range.count());
    return HttpResponse.of(headers(tag, found.info(), range), data);
  }

  /** An entry. The value is null if it was not wanted or is too long. */
  private record Found(EntryInfo info, byte @Nullable [] value) {
    static Found of(EntryInfo info, @Nullable ByteBuffer view) {
      if (view == null) {
        return new Found(info, null);
      }
      byte[] value = new byte[view.remaining()];
      view.get(value);
      return new Found(info, value);
    }
  }

  private static @Nullable Found head(KvReader reader, byte[] key) {
    EntryInfo info = reader.info(key);
    return info == null ? null : new Found(info, null);
  }

  private static @Nullable Found get(KvReader reader, byte[] key, int valueBytesMax) {
    return reader.readWithInfo(key, valueBytesMax, Found::of);
  }

  /**
   * Answers with a value in pieces, after verifying its checksum as a whole. A cursor holds the
   * value meanwhile; its version comes from the cursor's snapshot. Null if the value is longer than
   * {@code valueBytesMax}.
   */
  private @Nullable HttpResponse streamed(int valueBytesMax, Exchange exchange) {
    byte[] key = exchange.key();
    Preconditions preconditions = Preconditions.of(exchange.headers());
    Keyspace keyspace = keyspaces.orDefault(exchange.keyspace());
    try (Snapshot snapshot = store.snapshot()) {
      KvReader reader = keyspace == null ? snapshot : snapshot.in(keyspace);
      EntryInfo info = reader.info(key);
      if (info == null) {
        throw absent(preconditions);
      }
      String tag = tags.of(info);
      if (preconditions.isNotModified(tag)) {
        return HttpResponse.of(notModified(tag, info));
      }
      ByteRange range = ByteRange.of(exchange.headers(), tag, info.valueLength());
      if (info.valueLength() > valueBytesMax) {
        return null;
      }
      KvCursor cursor = cursorAt(reader, key);
      boolean isHandedOver = false;
      try {
        if (!isAt(cursor, key)) {
          // The entry has expired since.
          throw absent(preconditions);
        }
        ByteBuffer whole = cursor.valueView();
        // A value on the heap stays there as a whole until its last piece is sent.
        AdmissionControl.Held held = whole.isDirect() ? null : gate.hold(whole.remaining());
        isHandedOver = true;
        ByteBuffer part =
            range == null ? whole : whole.slice(whole.position() + range.first(), range.count());
        exchange
            .context()
            .setRequestTimeoutMillis(TimeoutMode.SET_FROM_NOW, limits.millisFor(part.remaining()));
        return StreamedAnswer.of(
            headers(tag, info, range),
            new Pieces(exchange, cursor, part, held),
            exchange.context());
      } finally {
        if (!isHandedOver) {
          cursor.close();
        }
      }
    }
  }

  HttpResponse put(Exchange exchange) {
    byte[] key = exchange.key();
    byte[] value = exchange.body();
    Duration timeToLive = timeToLive(exchange.headers());
    boolean isSynced = isSynced(exchange.headers());
    Preconditions preconditions = Preconditions.of(exchange.headers());
    long version =
        preconditions.isEmpty()
            ? put(writer(exchange), key, value, timeToLive)
            : writeIf(preconditions, exchange, writer -> put(writer, key, value, timeToLive));
    syncIf(isSynced);
    return HttpResponse.of(
        ResponseHeaders.of(
            preconditions.demandsAbsence() ? HttpStatus.CREATED : HttpStatus.NO_CONTENT,
            HttpHeaderNames.ETAG,
            tags.of(version)));
  }

  HttpResponse delete(Exchange exchange) {
    byte[] key = exchange.key();
    boolean isSynced = isSynced(exchange.headers());
    Preconditions preconditions = Preconditions.of(exchange.headers());
    if (preconditions.isEmpty()) {
      writer(exchange).delete(key);
    } else {
      writeIf(preconditions, exchange, writer -> writer.delete(key));
    }
    syncIf(isSynced);
    return Answers.done();
  }

  /** Writes the key in a transaction that checks the preconditions; returns the new version. */
  private long writeIf(Preconditions preconditions, Exchange exchange, Consumer<KvWriter> write) {
    byte[] key = exchange.key();
    Keyspace keyspace = keyspaces.orDefault(exchange.keyspace());
    Transaction committed =
        store.transact(
            transaction -> {
              KvReader reader = keyspace == null ? transaction : transaction.in(keyspace);
              EntryInfo info = reader.info(key);
              preconditions.requireForWrite(info == null ? null : tags.of(info));
              write.accept(keyspace == null ? transaction : transaction.in(keyspace));
              return transaction;
            });
    return committed.version();
  }

  void syncIf(boolean isWanted) {
    if (isWanted) {
      store.sync();
    }
  }

  /** Whether the answer has to wait until the write is on stable storage. */
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

  private static long put(
      KvWriter writer, byte[] key, byte[] value, @Nullable Duration timeToLive) {
    return timeToLive == null
        ? writer.putVersioned(key, value)
        : writer.putVersioned(key, value, timeToLive);
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

  private static KvCursor cursorAt(KvReader reader, byte[] key) {
    byte[] after = key.length == Exchange.KEY_BYTES_MAX ? null : Arrays.copyOf(key, key.length + 1);
    return reader.cursor(ScanOptions.range(key, after).limit(1).prefetch(0));
  }

  private static boolean isAt(KvCursor cursor, byte[] key) {
    return cursor.next() && cursor.keyView().equals(ByteBuffer.wrap(key));
  }

  private static Problem absent(Preconditions preconditions) {
    preconditions.requireForWrite(null);
    return Problem.of(HttpStatus.NOT_FOUND, "no-such-key", "the key is absent");
  }

  /**
   * @param range null for the whole value
   */
  private static ResponseHeaders headers(String tag, EntryInfo info, @Nullable ByteRange range) {
    ResponseHeadersBuilder headers =
        ResponseHeaders.builder(range == null ? HttpStatus.OK : HttpStatus.PARTIAL_CONTENT);
    headers
        .contentType(MediaType.OCTET_STREAM)
        .contentLength(range == null ? info.valueLength() : range.count())
        .set(HttpHeaderNames.ACCEPT_RANGES, "bytes");
    if (range != null) {
      headers.set(HttpHeaderNames.CONTENT_RANGE, range.toString());
    }
    return withVersion(headers, tag, info).build();
  }

  private static ResponseHeaders notModified(String tag, EntryInfo info) {
    return withVersion(ResponseHeaders.builder(HttpStatus.NOT_MODIFIED), tag, info).build();
  }

  private static ResponseHeadersBuilder withVersion(
      ResponseHeadersBuilder headers, String tag, EntryInfo info) {
    headers.set(HttpHeaderNames.ETAG, tag).set(HttpHeaderNames.CACHE_CONTROL, "no-cache");
    if (info.expiresAtMillis().isPresent()) {
      headers.setLong(EXPIRES_AT_MILLIS, info.expiresAtMillis().getAsLong());
    }
    return headers;
  }

  /**
   * Sends a long value piece by piece. Pieces are copied from the mapped file off the heap or, if
   * the value was compressed, from the unpacked array, which counts as held until the end.
   */
  private static final class Pieces implements StreamedAnswer.Source {
    private final Exchange exchange;
    private final KvCursor cursor;
    private final ByteBuffer value;
    private final AdmissionControl.@Nullable Held held;

    Pieces(
        Exchange exchange,
        KvCursor cursor,
        ByteBuffer value,
        AdmissionControl.@Nullable Held held) {
      this.exchange = exchange;
      this.cursor = cursor;
      this.value = value;
      this.held = held;
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
      try {
        cursor.close();
      } finally {
        if (held != null) {
          held.close();
        }
      }
    }
  }
}
