package io.kvsep.internal.read;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.RangeTally;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableReader;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.TableSums;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.ReadState;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Estimates what a range of keys holds from samples of memtables and of tables. Of each sorted
 * level it reads some blocks of the tables at the two bounds; sums over those between are kept.
 * With deleted ranges each table of the range is looked at, because one that is wholly deleted does
 * not count. Used by one thread, inside the epochs.
 */
final class RangeEstimate {
  private final ReadContext context;
  private final byte[] from;
  private final byte[] to;
  private final int prefixLength;
  private final @Nullable RangeCoverage coverage;
  private double entries;
  private double keyBytes;
  private double indexBytes;
  private double logBytes;

  private RangeEstimate(
      ReadContext context,
      byte[] from,
      byte[] to,
      int prefixLength,
      @Nullable RangeCoverage coverage) {
    this.context = context;
    this.from = from;
    this.to = to;
    this.prefixLength = prefixLength;
    this.coverage = coverage;
  }

  static RangeSize of(ReadState readState, long sequence, ReadContext context, ScanBounds bounds) {
    Version version = readState.version;
    RangeCoverage coverage = RangeCoverage.of(readState, version.level(0), sequence);
    RangeEstimate estimate =
        new RangeEstimate(
            context,
            bounds.lower(),
            bounds.upper(),
            Keyspaces.prefixLength(bounds.keyspace()),
            coverage);
    if (Arrays.compareUnsigned(estimate.from, estimate.to) < 0) {
      for (Memtable memtable : readState.searched) {
        estimate.add(memtable);
      }
      for (TableFile table : version.tables(0)) {
        estimate.add(table);
      }
      for (int level = 1; level <= version.lastLevel(); level++) {
        estimate.addLevel(version, level);
      }
      Region.requirePagesRead();
    }
    return RangeSize.of(
        estimate.entries, estimate.keyBytes, estimate.indexBytes, estimate.logBytes);
  }

  private void add(Memtable memtable) {
    if (memtable.isEmpty()) {
      return;
    }
    RangeEstimate sampled = new RangeEstimate(context, from, to, prefixLength, coverage);
    double weight = memtable.sampleKeys(sampled::addKey);
    entries += weight * sampled.entries;
    keyBytes += weight * sampled.keyBytes;
    indexBytes += weight * sampled.indexBytes;
    logBytes += weight * sampled.logBytes;
  }

  private void addKey(
      Region arena, long keyOffset, int keyLength, long oldestTag, Position newest) {
    if (arena.compareTo(keyOffset, keyLength, from) < 0
        || arena.compareTo(keyOffset, keyLength, to) >= 0
        || (coverage != null
            && coverage.hides(arena, keyOffset, keyLength, Tag.sequence(newest.tag)))) {
      return;
    }
    int userKeyLength = keyLength - prefixLength;
    int kind = Tag.kind(newest.tag);
    if (kind == Tag.DELETE) {
      // If the oldest entry is a put, there was nothing to delete below.
      int deleted = Tag.kind(oldestTag) == Tag.DELETE ? 1 : 0;
      entries -= deleted;
      keyBytes -= deleted * userKeyLength;
      return;
    }
    entries++;
    keyBytes += userKeyLength;
    indexBytes += userKeyLength;
    int header = Payload.headerLength(kind);
    if (Tag.baseKind(kind) == Tag.PUT) {
      indexBytes += newest.payloadLength - header;
    } else {
      Region payload = Objects.requireNonNull(newest.payloadRegion);
      logBytes += ValuePointer.recordLength(payload, newest.payloadOffset + header);
    }
  }

  private void addLevel(Version version, int level) {
    TableFile[] tables = version.tables(level);
    int first = version.firstEndingAtOrAfter(level, from);
    int limit = version.firstEndingAtOrAfter(level, to);
    if (limit < tables.length && isBefore(tables[limit].meta().smallestKey(), to)) {
      limit++;
    }
    if (coverage != null || limit - first <= 2) {
      for (int i = first; i < limit; i++) {
        add(tables[i]);
      }
      return;
    }
    add(tables[first]);
    add(version.sums(level, first + 1, limit - 1));
    add(tables[limit - 1]);
  }

  private void add(TableFile table) {
    TableMeta meta = table.meta();
    if (isBefore(meta.largestKey(), from) || !isBefore(meta.smallestKey(), to) || isDeleted(meta)) {
      return;
    }
    TableSums all = TableSums.of(table);
    boolean beginsBefore = isBefore(meta.smallestKey(), from);
    boolean endsAfter = !isBefore(meta.largestKey(), to);
    if (!beginsBefore && !endsAfter) {
      add(all);
      return;
    }
    TableReader reader = table.reader();
    RangeTally.Place first = beginsBefore ? place(reader, from) : reader.begin();
    RangeTally.Place limit = endsAfter ? place(reader, to) : reader.end();
    if (2 * (limit.block() - first.block()) <= reader.end().block()) {
      add(reader.tally(first, limit, context.lookup), 1);
    } else {
      // What is outside is the smaller part, so its estimate is the better one.
      add(all);
      add(reader.tally(reader.begin(), first, context.lookup), -1);
      add(reader.tally(limit, reader.end(), context.lookup), -1);
    }
  }

  private RangeTally.Place place(TableReader reader, byte[] key) {
    context.setStoredKey(key);
    return reader.place(context.key(), key.length, context.lookup);
  }

  private void add(TableSums sums) {
    entries += sums.entries();
    keyBytes += sums.keyBytes();
    indexBytes += sums.fileBytes();
    logBytes += sums.valueBytes();
  }

  private void add(RangeTally tally, int factor) {
    double userKeyBytes = tally.keyBytes() - prefixLength * tally.entries();
    entries += factor * tally.entries();
    keyBytes += factor * userKeyBytes;
    indexBytes += factor * tally.blockBytes();
    logBytes += factor * tally.valueBytes();
  }

  /** Whether one deleted range covers all that the table has in the range. */
  private boolean isDeleted(TableMeta meta) {
    if (coverage == null) {
      return false;
    }
    byte[] start = isBefore(meta.smallestKey(), from) ? from : meta.smallestKey();
    context.setStoredKey(start);
    return coverage.hides(context.key(), 0, context.keyLength, meta.largestSequence())
        && (!isBefore(coverage.end(), to) || isBefore(meta.largestKey(), coverage.end()));
  }

  private static boolean isBefore(byte[] key, byte[] other) {
    return Arrays.compareUnsigned(key, other) < 0;
  }
}
