package io.kvsep;

import io.kvsep.error.StoreClosedException;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import java.lang.ref.WeakReference;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A store's {@link StoreStats} as Micrometer meters; docs/metrics.md lists them. This class alone
 * needs {@code micrometer-core} on the class path; the store does not.
 *
 * <p>Nothing is counted for the meters: they ask for {@link KvStore#stats} when they are read. One
 * answer serves all that are read within 10 ms, each of them once, as a scrape reads them.
 *
 * <p>The meters hold the store weakly. Once it is closed or gone, gauges are NaN and counters keep
 * the last value that was read. Thread safe.
 */
public final class KvMetrics implements AutoCloseable {
  private static final String BYTES = "bytes";

  private final MeterRegistry registry;
  private final Tags tags;
  private final LatestStats latest;

  /** By identity: the registry may have replaced one of them by an equal one of another binding. */
  private final Set<Meter> meters = Collections.newSetFromMap(new IdentityHashMap<>());

  private KvMetrics(KvStore store, MeterRegistry registry, Tags tags) {
    this.registry = registry;
    this.tags = tags;
    this.latest = new LatestStats(store, registry.config().clock());
  }

  /**
   * Registers the store's meters with these tags. Meters of the same names and tags are replaced: a
   * store that is opened again takes the place of the closed one, and several open stores need tags
   * that tell them apart.
   *
   * @return what {@link #close} removes the meters with; it need not be kept
   * @throws StoreClosedException when the store is closed
   */
  public static KvMetrics bindTo(KvStore store, MeterRegistry registry, Tags tags) {
    Objects.requireNonNull(store, "store");
    Objects.requireNonNull(registry, "registry");
    Objects.requireNonNull(tags, "tags");
    KvMetrics metrics = new KvMetrics(store, registry, tags);
    StoreStats first = metrics.latest.first();
    metrics.bindAmounts();
    metrics.bindLevels(first.levels().size());
    metrics.bindMemory(first.memoryBytes().keySet());
    metrics.bindWork();
    metrics.bindReclaim();
    metrics.bindReaders();
    return metrics;
  }

  /** Removes the meters from the registry, except where another binding has replaced them. */
  @Override
  public void close() {
    latest.forgetStore();
    for (Meter meter : List.copyOf(registry.getMeters())) {
      if (meters.contains(meter)) {
        registry.remove(meter);
      }
    }
  }

  private void bindAmounts() {
    gauge("kvsep.entries", null, Tags.empty(), StoreStats::entriesEstimate);
    gauge("kvsep.keys", BYTES, Tags.empty(), StoreStats::keyBytes);
    gauge("kvsep.log.used", BYTES, Tags.empty(), StoreStats::logBytes);
    gauge("kvsep.log.live", BYTES, Tags.empty(), StoreStats::logLiveBytes);
    gauge("kvsep.log.segments", null, Tags.empty(), StoreStats::logSegments);
    gauge("kvsep.tables.used", BYTES, Tags.empty(), StoreStats::tableBytes);
    gauge("kvsep.space.amplification", null, Tags.empty(), StoreStats::spaceAmplification);
    gauge("kvsep.write.amplification", null, Tags.empty(), StoreStats::writeAmplification);
    gauge("kvsep.recovery.replayed", BYTES, Tags.empty(), StoreStats::replayedBytes);
    gauge("kvsep.recovery.torn", BYTES, Tags.empty(), StoreStats::tornBytes);
    gauge("kvsep.failed", null, Tags.empty(), stats -> stats.failed() ? 1 : 0);
  }

  private void bindLevels(int levels) {
    for (int i = 0; i < levels; i++) {
      int level = i;
      Tags tag = Tags.of("level", Integer.toString(level));
      gauge("kvsep.level.tables", null, tag, stats -> stats.levels().get(level).tables());
      gauge("kvsep.level.used", BYTES, tag, stats -> stats.levels().get(level).bytes());
    }
  }

  private void bindMemory(Set<String> purposes) {
    for (String purpose : purposes) {
      gauge(
          "kvsep.memory.used",
          BYTES,
          Tags.of("purpose", purpose),
          stats -> stats.memoryBytes().getOrDefault(purpose, 0L));
    }
    gauge("kvsep.memory.peak", BYTES, Tags.empty(), StoreStats::memoryPeakBytes);
  }

  private void bindWork() {
    counter("kvsep.user.written", BYTES, Tags.empty(), StoreStats::userBytesWritten);
    counter("kvsep.device.written", BYTES, Tags.empty(), StoreStats::deviceBytesWritten);
    counter("kvsep.log.written", BYTES, Tags.empty(), StoreStats::logBytesWritten);
    counter("kvsep.commits", null, Tags.empty(), StoreStats::commits);
    counter("kvsep.log.syncs", null, Tags.empty(), StoreStats::syncs);
    counter("kvsep.flushes", null, Tags.empty(), StoreStats::flushes);
    counter("kvsep.compactions", null, Tags.empty(), StoreStats::compactions);
    counter("kvsep.cache.gets", null, Tags.of("result", "hit"), StoreStats::cacheHits);
    counter("kvsep.cache.gets", null, Tags.of("result", "miss"), StoreStats::cacheMisses);
    ToLongFunction<LatestStats> total = figure(StoreStats::stallNanos);
    replace("kvsep.write.stalls", tags);
    meters.add(
        FunctionTimer.builder(
                "kvsep.write.stalls",
                latest,
                figure(StoreStats::stalls),
                total::applyAsLong,
                TimeUnit.NANOSECONDS)
            .tags(tags)
            .register(registry));
  }

  private void bindReclaim() {
    Tags none = Tags.empty();
    counter("kvsep.reclaim.files", null, none, stats -> stats.reclaim().filesRewritten());
    counter("kvsep.reclaim.read", BYTES, none, stats -> stats.reclaim().bytesRead());
    counter("kvsep.reclaim.written", BYTES, none, stats -> stats.reclaim().bytesWritten());
    gauge("kvsep.log.reclaimable", BYTES, none, stats -> stats.reclaim().reclaimableBytes());
    gauge("kvsep.reclaim.damaged", null, none, stats -> stats.reclaim().damagedFiles().size());
  }

  private void bindReaders() {
    gauge("kvsep.snapshots.open", null, Tags.empty(), StoreStats::openSnapshots);
    gauge("kvsep.cursors.open", null, Tags.empty(), StoreStats::openCursors);
    age("kvsep.snapshots.oldest", StoreStats::oldestSnapshotNanos);
    age("kvsep.cursors.oldest", StoreStats::oldestCursorNanos);
    Tags table = Tags.of("kind", "table");
    Tags segment = Tags.of("kind", "segment");
    Tags memtable = Tags.of("kind", "memtable");
    gauge("kvsep.pinned.files", null, table, stats -> stats.pinned().tables());
    gauge("kvsep.pinned.files", null, segment, stats -> stats.pinned().segments());
    gauge("kvsep.pinned.used", BYTES, table, stats -> stats.pinned().tableBytes());
    gauge("kvsep.pinned.used", BYTES, segment, stats -> stats.pinned().logBytes());
    gauge("kvsep.pinned.used", BYTES, memtable, stats -> stats.pinned().memtableBytes());
  }

  private void gauge(
      String name, @Nullable String unit, Tags own, ToDoubleFunction<StoreStats> figure) {
    replace(name, tags.and(own));
    meters.add(
        Gauge.builder(name, now(figure)).baseUnit(unit).tags(tags.and(own)).register(registry));
  }

  private void age(String name, ToDoubleFunction<StoreStats> nanos) {
    replace(name, tags);
    meters.add(
        TimeGauge.builder(name, now(nanos), TimeUnit.NANOSECONDS).tags(tags).register(registry));
  }

  private void counter(
      String name, @Nullable String unit, Tags own, ToLongFunction<StoreStats> figure) {
    replace(name, tags.and(own));
    // A registry holds the object weakly, so that it is the function that keeps it.
    meters.add(
        FunctionCounter.builder(name, latest, figure(figure)::applyAsLong)
            .baseUnit(unit)
            .tags(tags.and(own))
            .register(registry));
  }

  private Supplier<Number> now(ToDoubleFunction<StoreStats> figure) {
    Shown shown = new Shown();
    return () -> latest.now(shown, figure);
  }

  private ToLongFunction<LatestStats> figure(ToLongFunction<StoreStats> figure) {
    Shown shown = new Shown();
    return any -> figure.applyAsLong(latest.newest(shown));
  }

  /** A registry keeps the meter it has when an equal one is registered. */
  private void replace(String name, Tags all) {
    registry.removeByPreFilterId(new Meter.Id(name, all, null, null, Meter.Type.OTHER));
  }

  /** Which of the store's answers a figure was shown from last. Guarded by its LatestStats. */
  private static final class Shown {
    private long answer;
  }

  /** What the store said last, asked again when that is old or was shown before. */
  private static final class LatestStats {
    private static final long AGE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(10);

    private final WeakReference<KvStore> store;
    private final Clock clock;

    // Guarded by this.
    private StoreStats stats;
    private long takenNanos;
    private long answers;
    private boolean gone;

    LatestStats(KvStore store, Clock clock) {
      this.store = new WeakReference<>(store);
      this.clock = clock;
      this.stats = store.stats();
    }

    /** What it said when it was bound. */
    synchronized StoreStats first() {
      return stats;
    }

    synchronized double now(Shown shown, ToDoubleFunction<StoreStats> figure) {
      StoreStats newest = newest(shown);
      return gone ? Double.NaN : figure.applyAsDouble(newest);
    }

    /** Also when the store is gone. */
    synchronized StoreStats newest(Shown shown) {
      long now = clock.monotonicTime();
      boolean serves = shown.answer < answers && now - takenNanos < AGE_NANOS_MAX;
      if (!gone && !serves) {
        ask(now);
      }
      shown.answer = answers;
      return stats;
    }

    private void ask(long now) {
      takenNanos = now;
      answers++;
      KvStore open = store.get();
      if (open == null) {
        gone = true;
        return;
      }
      try {
        stats = open.stats();
      } catch (StoreClosedException e) {
        forgetStore();
      }
    }

    synchronized void forgetStore() {
      gone = true;
      store.clear();
    }
  }
}
