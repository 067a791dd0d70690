package io.kvsep.kafka.streams;

import io.kvsep.kafka.streams.WindowSupplier.Emit;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.EmitStrategy.StrategyType;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Moves all stores of a topology of the Streams DSL to kvsep, by one line of its configuration:
 *
 * <pre>
 * dsl.store.suppliers.class=io.kvsep.kafka.streams.KvsepStoreSuppliers
 * </pre>
 *
 * {@link KvsepStores} has further configuration, and suppliers for the Processor API.
 */
public final class KvsepStoreSuppliers implements DslStoreSuppliers {
  /** Called by Kafka. */
  public KvsepStoreSuppliers() {}

  @Override
  public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
    return KeyValueSupplier.of(params.name(), params.dslStoreFormat());
  }

  @Override
  public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
    Emit emit = Emit.UPDATES;
    if (isOnClose(params.emitStrategy())) {
      emit = params.isSlidingWindow() ? Emit.CLOSED_SLIDING_WINDOWS : Emit.CLOSED_TIME_WINDOWS;
    }
    DslStoreFormat format = params.dslStoreFormat();
    if (format == null || (format == DslStoreFormat.PLAIN && emit != Emit.UPDATES)) {
      format = DslStoreFormat.TIMESTAMPED;
    }
    return WindowSupplier.of(
        params.name(),
        params.retentionPeriod(),
        params.windowSize(),
        params.retainDuplicates(),
        format,
        emit);
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
    return SessionSupplier.of(
        params.name(),
        params.retentionPeriod(),
        params.storeFormat() == DslStoreFormat.HEADERS,
        isOnClose(params.emitStrategy()));
  }

  private static boolean isOnClose(EmitStrategy strategy) {
    return strategy.type() == StrategyType.ON_WINDOW_CLOSE;
  }
}
