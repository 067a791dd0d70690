package io.kvsep.kafka.streams;

import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;

/** Supplies session stores. */
class SessionSupplier implements SessionBytesStoreSupplier {
  private final String name;
  private final long retentionMillis;
  private final boolean emitsOnClose;

  private SessionSupplier(String name, Duration retention, boolean emitsOnClose) {
    this.name = Objects.requireNonNull(name, "name");
    retentionMillis = WindowSupplier.millis(retention, "retentionPeriod");
    this.emitsOnClose = emitsOnClose;
  }

  static SessionSupplier of(
      String name, Duration retention, boolean withHeaders, boolean emitsOnClose) {
    return withHeaders
        ? new WithHeaders(name, retention, emitsOnClose)
        : new SessionSupplier(name, retention, emitsOnClose);
  }

  /** Kafka tells stores with headers by the type of their supplier. */
  private static final class WithHeaders extends SessionSupplier
      implements HeadersBytesStoreSupplier {
    WithHeaders(String name, Duration retention, boolean emitsOnClose) {
      super(name, retention, emitsOnClose);
    }

    @Override
    public SessionStore<Bytes, byte[]> get() {
      return new KvsepSessionStore.WithHeaders(this);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public SessionStore<Bytes, byte[]> get() {
    return new KvsepSessionStore(this);
  }

  @Override
  public String metricsScope() {
    return "kvsep-session";
  }

  @Override
  public long segmentIntervalMs() {
    return WindowSupplier.segmentMillis(retentionMillis);
  }

  @Override
  public long retentionPeriod() {
    return retentionMillis;
  }

  SegmentLayout layout() {
    return emitsOnClose
        ? SegmentLayout.ofOrderedSessions(segmentIntervalMs())
        : SegmentLayout.ofSessions(segmentIntervalMs());
  }
}
