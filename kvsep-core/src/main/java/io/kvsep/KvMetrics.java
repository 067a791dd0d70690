package io.kvsep;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
   * @param store the store
   * @param registry receives the meters
   * @param tags tags of all meters
   * @return what {@link #close} removes the meters with; it need not be kept
   * @throws StoreClosedException when the store is closed
   */
  @SuppressWarnings("exports") // Micrometer is optional, and so is its module.
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
    gauge(
        "kvsep.entries",
        "Entries in the store, about",
        null,
        Tags.empty(),
        StoreStats::entriesEstimate);
    gauge(
        "kvsep.keys",
        "Bytes of keys in tables and memtables",
        BYTES,
        Tags.empty(),
        StoreStats::keyBytes);
    gauge("kvsep.log.used", "Length of the value log", BYTES, Tags.empty(), StoreStats::logBytes);
    gauge(
        "kvsep.log.live",
        "Bytes of the value log that are live",
        BYTES,
        Tags.empty(),
        StoreStats::logLiveBytes);
    gauge(
        "kvsep.log.segments",
        "Files of the value log",
        null,
        Tags.empty(),
        StoreStats::logSegments);
    gauge("kvsep.tables.used", "Length of all tables", BYTES, Tags.empty(), StoreStats::tableBytes);
    gauge(
        "kvsep.space.amplification",
        "Bytes on the device for each byte that is live",
        null,
        Tags.empty(),
        StoreStats::spaceAmplification);
    gauge(
        "kvsep.write.amplification",
        "Bytes written to the device for each byte that users wrote",
        null,
        Tags.empty(),
        StoreStats::writeAmplification);
    gauge(
        "kvsep.recovery.replayed",
        "Bytes of the log that were replayed when the store was opened",
        BYTES,
        Tags.empty(),
        StoreStats::replayedBytes);
    gauge(
        "kvsep.recovery.torn",
        "Bytes at the end of the log that were cut off when the store was opened",
        BYTES,
        Tags.empty(),
        StoreStats::tornBytes);
    gauge(
        "kvsep.failed",
        "1 when a sync has failed and every write is refused, else 0",
        null,
        Tags.empty(),
        stats -> stats.failed() ? 1 : 0);
  }

  private void bindLevels(int levels) {
    for (int i = 0; i < levels; i++) {
      int level = i;
      Tags tag = Tags.of("level", Integer.toString(level));
      gauge(
          "kvsep.level.tables",
          "Tables of a level",
          null,
          tag,
          stats -> stats.levels().get(level).tables());
      gauge(
          "kvsep.level.used",
          "Length of the tables of a level",
          BYTES,
          tag,
          stats -> stats.levels().get(level).bytes());
    }
  }

  private void bindMemory(Set<String> purposes) {
    for (String purpose : purposes) {
      gauge(
          "kvsep.memory.used",
          "Memory off the heap by purpose",
          BYTES,
          Tags.of("purpose", purpose),
          stats -> stats.memoryBytes().getOrDefault(purpose, 0L));
    }
    gauge(
        "kvsep.memory.peak",
        "Most memory off the heap at once since the store was opened",
        BYTES,
        Tags.empty(),
        StoreStats::memoryPeakBytes);
  }

  private void bindWork() {
    counter(
        "kvsep.user.written",
        "Bytes of keys and values that users wrote",
        BYTES,
        Tags.empty(),
        StoreStats::userBytesWritten);
    counter(
        "kvsep.device.written",
        "Bytes written to the device",
        BYTES,
        Tags.empty(),
        StoreStats::deviceBytesWritten);
    counter(
        "kvsep.log.written",
        "Bytes written to the value log",
        BYTES,
        Tags.empty(),
        StoreStats::logBytesWritten);
    counter("kvsep.commits", "Commits", null, Tags.empty(), StoreStats::commits);
    counter("kvsep.log.syncs", "Syncs of the value log", null, Tags.empty(), StoreStats::syncs);
    counter(
        "kvsep.flushes",
        "Memtables that were written out as tables",
        null,
        Tags.empty(),
        StoreStats::flushes);
    counter("kvsep.compactions", "Compactions", null, Tags.empty(), StoreStats::compactions);
    counter(
        "kvsep.cache.gets",
        "Tables found open (hit) or opened, and blocks of keys found unpacked or unpacked",
        null,
        Tags.of("result", "hit"),
        StoreStats::cacheHits);
    counter(
        "kvsep.cache.gets",
        "Tables found open (hit) or opened, and blocks of keys found unpacked or unpacked",
        null,
        Tags.of("result", "miss"),
        StoreStats::cacheMisses);
    ToLongFunction<LatestStats> total = figure(StoreStats::stallNanos);
    replace("kvsep.write.stalls", tags);
    meters.add(
        FunctionTimer.builder(
                "kvsep.write.stalls",
                latest,
                figure(StoreStats::stalls),
                total::applyAsLong,
                TimeUnit.NANOSECONDS)
            .description("Times that writers were held back, and for how long")
            .tags(tags)
            .register(registry));
  }

  private void bindReclaim() {
    Tags none = Tags.empty();
    counter(
        "kvsep.reclaim.files",
        "Files of the value log that reclaim has rewritten",
        null,
        none,
        stats -> stats.reclaim().filesRewritten());
    counter(
        "kvsep.reclaim.read",
        "Bytes that reclaim has read",
        BYTES,
        none,
        stats -> stats.reclaim().bytesRead());
    counter(
        "kvsep.reclaim.written",
        "Bytes that reclaim has written",
        BYTES,
        none,
        stats -> stats.reclaim().bytesWritten());
    gauge(
        "kvsep.log.reclaimable",
        "Bytes that reclaim could give back",
        BYTES,
        none,
        stats -> stats.reclaim().reclaimableBytes());
    gauge(
        "kvsep.reclaim.damaged",
        "Files that reclaim and compaction cannot touch, as they are damaged",
        null,
        none,
        stats -> stats.reclaim().damagedFiles().size());
  }

  private void bindReaders() {
    gauge("kvsep.snapshots.open", "Open snapshots", null, Tags.empty(), StoreStats::openSnapshots);
    gauge("kvsep.cursors.open", "Open cursors", null, Tags.empty(), StoreStats::openCursors);
    age(
        "kvsep.snapshots.oldest",
        "Age of the oldest open snapshot",
        StoreStats::oldestSnapshotNanos);
    age("kvsep.cursors.oldest", "Age of the oldest open cursor", StoreStats::oldestCursorNanos);
    Tags table = Tags.of("kind", "table");
    Tags segment = Tags.of("kind", "segment");
    Tags memtable = Tags.of("kind", "memtable");
    gauge(
        "kvsep.pinned.files",
        "Replaced files that are kept for readers",
        null,
        table,
        stats -> stats.pinned().tables());
    gauge(
        "kvsep.pinned.files",
        "Replaced files that are kept for readers",
        null,
        segment,
        stats -> stats.pinned().segments());
    gauge(
        "kvsep.pinned.used",
        "Bytes that were replaced and are kept for readers",
        BYTES,
        table,
        stats -> stats.pinned().tableBytes());
    gauge(
        "kvsep.pinned.used",
        "Bytes that were replaced and are kept for readers",
        BYTES,
        segment,
        stats -> stats.pinned().logBytes());
    gauge(
        "kvsep.pinned.used",
        "Bytes that were replaced and are kept for readers",
        BYTES,
        memtable,
        stats -> stats.pinned().memtableBytes());
  }

  private void gauge(
      String name,
      String description,
      @Nullable String unit,
      Tags own,
      ToDoubleFunction<StoreStats> figure) {
    replace(name, tags.and(own));
    meters.add(
        Gauge.builder(name, now(figure))
            .description(description)
            .baseUnit(unit)
            .tags(tags.and(own))
            .register(registry));
  }

  private void age(String name, String description, ToDoubleFunction<StoreStats> nanos) {
    replace(name, tags);
    meters.add(
        TimeGauge.builder(name, now(nanos), TimeUnit.NANOSECONDS)
            .description(description)
            .tags(tags)
            .register(registry));
  }

  private void counter(
      String name,
      String description,
      @Nullable String unit,
      Tags own,
      ToLongFunction<StoreStats> figure) {
    replace(name, tags.and(own));
    // A registry holds the object weakly, so that it is the function that keeps it.
    meters.add(
        FunctionCounter.builder(name, latest, figure(figure)::applyAsLong)
            .description(description)
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

    @GuardedBy("this")
    private StoreStats stats;

    @GuardedBy("this")
    private long takenNanos;

    @GuardedBy("this")
    private long answers;

    @GuardedBy("this")
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

    @GuardedBy("this")
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
