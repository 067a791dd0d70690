package io.kvsep.internal.version;

import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The tables of one level, in order. Versions share an unchanged level.
 *
 * <p>Tables of level 0 overlap and are ordered newest first: by sequence number, not by file
 * number, which a bulk load allocates when it begins. Other levels are disjoint and ascending by
 * key. For these an array has the eight bytes of each largest key after the level's common key
 * prefix, so that a search reads keys only for ties and the final answer.
 *
 * <p>Immutable except for {@code sharers}.
 */
final class Level {
  private static final Comparator<TableFile> NEWEST_FIRST =
      Comparator.comparingLong((TableFile table) -> table.meta().largestSequence())
          .thenComparingLong(table -> table.meta().number())
          .reversed();
  private static final Comparator<TableFile> BY_KEY =
      (a, b) -> Arrays.compareUnsigned(a.meta().smallestKey(), b.meta().smallestKey());

  final TableFile[] tables;

  /** Tables with range deletes. */
  final TableFile[] rangeTables;

  final long bytes;
  final LevelSums sums;
  private final boolean byKey;
  private final List<TableFile> list;

  /** Common prefix of all keys. */
  private final byte[] shared;

  /** Eight bytes of each largest key after the common prefix, in signed order. */
  private final long[] prefixes;

  /** Sums over the tables before each, and over all; null until first needed. */
  private volatile TableSums @Nullable [] before;

  /** Number of versions that share this level. Guarded by LiveFiles. */
  int sharers;

  private Level(boolean byKey, TableFile[] tables, long bytes, byte[] shared, long[] prefixes) {
    this.byKey = byKey;
    this.tables = tables;
    this.rangeTables = withRanges(tables);
    this.bytes = bytes;
    this.sums = LevelSums.of(tables);
    this.shared = shared;
    this.prefixes = prefixes;
    this.list = Collections.unmodifiableList(Arrays.asList(tables));
  }

  static Level empty(boolean byKey) {
    return new Level(byKey, new TableFile[0], 0, new byte[0], new long[0]);
  }

  /**
   * Copies the arrays; compares keys only around added tables.
   *
   * @throws IllegalStateException if tables of a level ordered by key would overlap
   */
  Level with(Set<Long> removed, List<TableFile> added) {
    List<TableFile> coming = new ArrayList<>(added);
    coming.sort(byKey ? BY_KEY : NEWEST_FIRST);
    TableFile[] merged = new TableFile[tables.length + coming.size()];
    long[] mergedPrefixes = new long[merged.length];
    long mergedBytes = bytes;
    int count = 0;
    int nextComing = 0;
    boolean lastCame = false;
    for (int i = 0; i <= tables.length; i++) {
      TableFile staying = i < tables.length ? tables[i] : null;
      if (staying != null && !removed.isEmpty() && removed.contains(staying.meta().number())) {
        mergedBytes -= staying.meta().fileBytes();
        continue;
      }
      while (nextComing < coming.size() && comesBefore(coming.get(nextComing), staying)) {
        TableFile table = coming.get(nextComing++);
        requireDisjoint(count == 0 ? null : merged[count - 1], table);
        merged[count++] = table;
        mergedBytes += table.meta().fileBytes();
        lastCame = true;
      }
      if (staying != null) {
        if (lastCame) {
          requireDisjoint(merged[count - 1], staying);
          lastCame = false;
        }
        mergedPrefixes[count] = byKey ? prefixes[i] : 0;
        merged[count++] = staying;
      }
    }
    TableFile[] result = count == merged.length ? merged : Arrays.copyOf(merged, count);
    if (!byKey) {
      return new Level(false, result, mergedBytes, shared, prefixes);
    }
    byte[] resultShared = sharedBeginning(result);
    long[] resultPrefixes = Arrays.copyOf(mergedPrefixes, count);
    boolean known = resultShared.length == shared.length && tables.length > 0;
    Set<TableFile> unknown = known ? Set.copyOf(coming) : Set.of();
    for (int i = 0; i < count; i++) {
      if (!known || unknown.contains(result[i])) {
        resultPrefixes[i] = prefixOf(result[i].meta().largestKey(), resultShared.length);
      }
    }
    return new Level(true, result, mergedBytes, resultShared, resultPrefixes);
  }

  private static TableFile[] withRanges(TableFile[] tables) {
    int count = 0;
    for (TableFile table : tables) {
      count += table.meta().rangeCount() > 0 ? 1 : 0;
    }
    TableFile[] found = new TableFile[count];
    for (int i = 0, next = 0; next < count; i++) {
      if (tables[i].meta().rangeCount() > 0) {
        found[next++] = tables[i];
      }
    }
    return found;
  }

  List<TableFile> asList() {
    return list;
  }

  /** The only table that may have the key; for levels ordered by key. */
  @Nullable TableFile find(Region key, long offset, int length) {
    int count = tables.length;
    if (count == 0 || key.compareTo(offset, Math.min(length, shared.length), shared) != 0) {
      return null;
    }
    int behind = shared.length;
    long prefix = key.keyPrefix(offset + behind, length - behind) ^ Long.MIN_VALUE;
    int from = 0;
    int limit = count;
    while (from < limit) {
      int middle = (from + limit) >>> 1;
      long other = prefixes[middle];
      if (other < prefix
          || (other == prefix
              && key.compareTo(offset, length, tables[middle].meta().largestKey()) > 0)) {
        from = middle + 1;
      } else {
        limit = middle;
      }
    }
    if (from == count) {
      return null;
    }
    TableFile table = tables[from];
    return key.compareTo(offset, length, table.meta().smallestKey()) >= 0 ? table : null;
  }

  /** In order; both ends are inclusive. */
  List<TableFile> overlapping(byte[] smallest, byte[] largest) {
    List<TableFile> found = new ArrayList<>();
    for (int i = byKey ? firstEndingAtOrAfter(smallest) : 0; i < tables.length; i++) {
      TableMeta meta = tables[i].meta();
      if (Arrays.compareUnsigned(meta.smallestKey(), largest) > 0) {
        if (byKey) {
          break;
        }
      } else if (Arrays.compareUnsigned(meta.largestKey(), smallest) >= 0) {
        found.add(tables[i]);
      }
    }
    return found;
  }

  /** Sums over the tables in [{@code from}, {@code to}). */
  TableSums sums(int from, int to) {
    TableSums[] known = before;
    if (known == null) {
      known = new TableSums[tables.length + 1];
      known[0] = TableSums.NONE;
      for (int i = 0; i < tables.length; i++) {
        known[i + 1] = known[i].plus(TableSums.of(tables[i]));
      }
      before = known;
    }
    return known[to].minus(known[from]);
  }

  int firstEndingAtOrAfter(byte[] key) {
    int from = 0;
    int limit = tables.length;
    while (from < limit) {
      int middle = (from + limit) >>> 1;
      if (Arrays.compareUnsigned(tables[middle].meta().largestKey(), key) < 0) {
        from = middle + 1;
      } else {
        limit = middle;
      }
    }
    return from;
  }

  private boolean comesBefore(TableFile coming, @Nullable TableFile staying) {
    return staying == null || (byKey ? BY_KEY : NEWEST_FIRST).compare(coming, staying) < 0;
  }

  private void requireDisjoint(@Nullable TableFile before, TableFile after) {
    if (byKey
        && before != null
        && Arrays.compareUnsigned(before.meta().largestKey(), after.meta().smallestKey()) >= 0) {
      throw new IllegalStateException("tables overlap: " + before.meta() + ", " + after.meta());
    }
  }

  /** Tables are in order, so all keys share what first and last share. */
  private static byte[] sharedBeginning(TableFile[] tables) {
    if (tables.length == 0) {
      return new byte[0];
    }
    byte[] first = tables[0].meta().smallestKey();
    byte[] last = tables[tables.length - 1].meta().largestKey();
    int mismatch = Arrays.mismatch(first, last);
    return Arrays.copyOf(first, mismatch < 0 ? first.length : mismatch);
  }

  /** {@link Region#keyPrefix} with the sign bit flipped, so that signed order is key order. */
  private static long prefixOf(byte[] key, int from) {
    long prefix = 0;
    for (int i = 0; i < 8; i++) {
      prefix = prefix << 8 | (from + i < key.length ? key[from + i] & 0xff : 0);
    }
    return prefix ^ Long.MIN_VALUE;
  }
}
