package io.kvsep.cluster;

import io.kvsep.ReclaimReport;
import io.kvsep.StoreStats;
import io.kvsep.VerifyReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/** Figures of all shards of a node together. */
final class ShardSums {
  private final List<StoreStats> shards;

  private ShardSums(List<StoreStats> shards) {
    this.shards = shards;
  }

  static StoreStats of(List<StoreStats> shards) {
    return new ShardSums(shards).sum();
  }

  private StoreStats sum() {
    long userBytes = sum(StoreStats::userBytesWritten);
    long deviceBytes = sum(StoreStats::deviceBytesWritten);
    return new StoreStats(
        sum(StoreStats::entriesEstimate),
        sum(StoreStats::keyBytes),
        sum(StoreStats::logBytes),
        sum(StoreStats::logLiveBytes),
        (int) sum(StoreStats::logSegments),
        sum(StoreStats::tableBytes),
        memoryBytes(),
        sum(StoreStats::memoryPeakBytes),
        levels(),
        userBytes,
        deviceBytes,
        sum(StoreStats::logBytesWritten),
        userBytes == 0 ? 0 : (double) deviceBytes / userBytes,
        spaceAmplification(),
        sum(StoreStats::commits),
        sum(StoreStats::syncs),
        sum(StoreStats::flushes),
        sum(StoreStats::compactions),
        sum(StoreStats::stalls),
        sum(StoreStats::stallNanos),
        sum(StoreStats::cacheHits),
        sum(StoreStats::cacheMisses),
        (int) sum(StoreStats::openSnapshots),
        (int) sum(StoreStats::openCursors),
        shards.stream().mapToLong(StoreStats::oldestSnapshotNanos).max().orElse(0),
        shards.stream().mapToLong(StoreStats::oldestCursorNanos).max().orElse(0),
        new StoreStats.Pinned(
            (int) sum(stats -> stats.pinned().tables()),
            sum(stats -> stats.pinned().tableBytes()),
            (int) sum(stats -> stats.pinned().segments()),
            sum(stats -> stats.pinned().logBytes()),
            sum(stats -> stats.pinned().memtableBytes())),
        new StoreStats.Reclaim(
            sum(stats -> stats.reclaim().filesRewritten()),
            sum(stats -> stats.reclaim().bytesRead()),
            sum(stats -> stats.reclaim().bytesWritten()),
            sum(stats -> stats.reclaim().reclaimableBytes()),
            joined(shards, stats -> stats.reclaim().damagedFiles())),
        sum(StoreStats::replayedBytes),
        sum(StoreStats::tornBytes),
        shards.stream().anyMatch(StoreStats::failed));
  }

  private long sum(ToLongFunction<StoreStats> figure) {
    return shards.stream().mapToLong(figure).sum();
  }

  private double sumOfDoubles(ToDoubleFunction<StoreStats> figure) {
    return shards.stream().mapToDouble(figure).sum();
  }

  private Map<String, Long> memoryBytes() {
    Map<String, Long> bytes = new TreeMap<>();
    shards.forEach(
        stats -> stats.memoryBytes().forEach((use, more) -> bytes.merge(use, more, Long::sum)));
    return bytes;
  }

  private List<StoreStats.Level> levels() {
    List<StoreStats.Level> sums = new ArrayList<>();
    int depth = shards.stream().mapToInt(stats -> stats.levels().size()).max().orElse(0);
    for (int i = 0; i < depth; i++) {
      int level = i;
      List<StoreStats.Level> each =
          shards.stream()
              .filter(stats -> level < stats.levels().size())
              .map(stats -> stats.levels().get(level))
              .toList();
      sums.add(
          new StoreStats.Level(
              each.stream().mapToInt(StoreStats.Level::tables).sum(),
              each.stream().mapToLong(StoreStats.Level::bytes).sum()));
    }
    return sums;
  }

  private double spaceAmplification() {
    double live =
        sumOfDoubles(stats -> (stats.logBytes() + stats.tableBytes()) / stats.spaceAmplification());
    return live == 0 ? 1 : (sum(StoreStats::logBytes) + sum(StoreStats::tableBytes)) / live;
  }

  static ReclaimReport reclaimed(List<ReclaimReport> shards) {
    return new ReclaimReport(
        shards.stream().mapToLong(ReclaimReport::filesExamined).sum(),
        shards.stream().mapToLong(ReclaimReport::filesRewritten).sum(),
        shards.stream().mapToLong(ReclaimReport::filesRemoved).sum(),
        shards.stream().mapToLong(ReclaimReport::bytesRead).sum(),
        shards.stream().mapToLong(ReclaimReport::bytesWritten).sum(),
        shards.stream().mapToLong(ReclaimReport::bytesFreed).sum(),
        shards.stream().mapToDouble(ReclaimReport::seconds).sum(),
        joined(shards, ReclaimReport::damagedFiles));
  }

  static VerifyReport verified(List<VerifyReport> shards) {
    return new VerifyReport(
        shards.stream().mapToLong(VerifyReport::files).sum(),
        shards.stream().mapToLong(VerifyReport::bytes).sum(),
        shards.stream().mapToLong(VerifyReport::entries).sum(),
        shards.stream().mapToLong(VerifyReport::records).sum(),
        shards.stream().mapToLong(VerifyReport::problemCount).sum(),
        joined(shards, VerifyReport::problems),
        joined(shards, VerifyReport::unknownFiles),
        shards.stream().mapToDouble(VerifyReport::seconds).sum());
  }

  private static <S, T> List<T> joined(List<S> shards, Function<S, List<T>> part) {
    Stream<T> parts = shards.stream().flatMap(shard -> part.apply(shard).stream());
    return parts.toList();
  }
}
