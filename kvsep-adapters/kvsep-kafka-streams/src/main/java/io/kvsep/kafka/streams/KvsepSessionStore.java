package io.kvsep.kafka.streams;

import io.kvsep.kafka.streams.SegmentScan.Range;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.jspecify.annotations.Nullable;

/** A store of sessions, see {@link SegmentLayout}. */
class KvsepSessionStore extends SegmentedStore implements SessionStore<Bytes, byte[]> {
  KvsepSessionStore(SessionSupplier options) {
    super(options.name(), options.retentionPeriod(), 0, options.layout());
  }

  /** Values begin with headers. */
  static final class WithHeaders extends KvsepSessionStore implements HeadersBytesStore {
    WithHeaders(SessionSupplier options) {
      super(options);
    }
  }

  @Override
  public void put(Windowed<Bytes> sessionKey, byte @Nullable [] aggregate) {
    put(storeKey(sessionKey), aggregate);
  }

  @Override
  public void remove(Windowed<Bytes> sessionKey) {
    remove(storeKey(sessionKey));
  }

  @Override
  public byte @Nullable [] fetchSession(Bytes key, long sessionStartTime, long sessionEndTime) {
    byte[] bytes = Objects.requireNonNull(key, "key").get();
    return get(SegmentLayout.sessionKey(bytes, sessionStartTime, sessionEndTime));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
    return scanKey(key, earliestSessionEndTime, latestSessionStartTime, /* forward= */ true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
    return scanKey(key, earliestSessionEndTime, latestSessionStartTime, /* forward= */ false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long earliestSessionEndTime,
      long latestSessionStartTime) {
    return scanKeys(
        keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, /* forward= */ true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long earliestSessionEndTime,
      long latestSessionStartTime) {
    return scanKeys(
        keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, /* forward= */ false);
  }

  /** In order of time if the store is one for sessions that are emitted when they close. */
  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      long earliestSessionEndTime, long latestSessionEndTime) {
    Range range =
        new Range(
            earliestSessionEndTime,
            latestSessionEndTime,
            null,
            null,
            null,
            null,
            bytes -> {
              long end = layout().time(bytes);
              return end >= earliestSessionEndTime && end <= latestSessionEndTime;
            });
    return new SegmentScan<>(this, range, SegmentLayout.DATA, /* forward= */ true, this::windowed);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes key) {
    return findSessions(key, 0, Long.MAX_VALUE);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes key) {
    return backwardFindSessions(key, 0, Long.MAX_VALUE);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo) {
    return findSessions(keyFrom, keyTo, 0, Long.MAX_VALUE);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo) {
    return backwardFindSessions(keyFrom, keyTo, 0, Long.MAX_VALUE);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> scanKey(
      Bytes key, long earliestEnd, long latestStart, boolean forward) {
    byte[] bytes = Objects.requireNonNull(key, "key").get();
    long first = notExpired(earliestEnd);
    return scan(
        new Range(
            first,
            Long.MAX_VALUE,
            key,
            key,
            SegmentLayout.sessionKey(bytes, 0, Math.max(0, first)),
            SegmentLayout.sessionKey(bytes, latestStart, Long.MAX_VALUE),
            overlaps(first, latestStart)),
        forward);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> scanKeys(
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long earliestEnd,
      long latestStart,
      boolean forward) {
    long first = notExpired(earliestEnd);
    long last = Long.MAX_VALUE;
    if (keyFrom != null && keyTo != null && keyFrom.compareTo(keyTo) > 0) {
      warnOfInvalidRange();
      last = Long.MIN_VALUE;
    }
    byte[] suffix =
        ByteBuffer.allocate(2 * Long.BYTES).putLong(Long.MAX_VALUE).putLong(Long.MAX_VALUE).array();
    return scan(
        new Range(
            first,
            last,
            keyFrom,
            keyTo,
            keyFrom == null ? null : keyFrom.get(),
            SegmentLayout.highest(keyTo == null ? null : keyTo.get(), suffix),
            overlaps(first, latestStart)),
        forward);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> scan(Range range, boolean forward) {
    byte tag = layout().indexed() ? SegmentLayout.INDEX : SegmentLayout.DATA;
    return new SegmentScan<>(this, range, tag, forward, this::windowed);
  }

  private SegmentScan.Wanted overlaps(long earliestEnd, long latestStart) {
    return bytes ->
        layout().time(bytes) >= earliestEnd && SegmentLayout.sessionStart(bytes) <= latestStart;
  }

  private static byte[] storeKey(Windowed<Bytes> session) {
    return SegmentLayout.sessionKey(
        session.key().get(), session.window().start(), session.window().end());
  }

  private Windowed<Bytes> windowed(byte[] storeKey) {
    byte[] key = Arrays.copyOf(storeKey, storeKey.length - layout().suffixLength());
    return new Windowed<>(
        Bytes.wrap(key),
        new SessionWindow(SegmentLayout.sessionStart(storeKey), layout().time(storeKey)));
  }
}
