package io.kvsep.internal.repair;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.LostBlocks;
import io.kvsep.internal.sstable.TableCheck;
import io.kvsep.internal.sstable.TableMeta;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tables of a damaged store: their valid entries, and the keys that may be lost with the rest.
 */
final class TableSource implements AutoCloseable {
  private static final TableCheck.EntrySink DISCARD =
      (blockOffset, key, keyLength, tag, payload, payloadOffset, payloadLength) -> {};

  private final Storage storage;
  private final StoreId storeId;
  private final MemoryLedger ledger;
  private final DamagedFiles directory;
  private final Losses losses;
  private final LostKeys lostKeys;
  private final List<TableCheck> tables = new ArrayList<>();
  private final RangeTombstones.Builder ranges = new RangeTombstones.Builder();

  /** Tables that no manifest describes. */
  private final List<Numbers> numbers = new ArrayList<>();

  private long largestSequence;
  private long settledSequence;
  private long doubtfulFrom = Long.MAX_VALUE;
  private long bytes;
  private int count;

  /**
   * @param mayBeLoaded whether a bulk load has, or may have, written it
   */
  private record Numbers(long largest, boolean mayBeLoaded) {}

  TableSource(
      Storage storage,
      StoreId storeId,
      MemoryLedger ledger,
      DamagedFiles directory,
      Losses losses,
      LostKeys lostKeys) {
    this.storage = storage;
    this.storeId = storeId;
    this.ledger = ledger;
    this.directory = directory;
    this.losses = losses;
    this.lostKeys = lostKeys;
  }

  /**
   * @param known its description in the manifest, if there is one
   */
  void add(long number, @Nullable TableMeta known) {
    String name = StoreFiles.table(number);
    count++;
    List<CorruptionException> problems = new ArrayList<>();
    TableCheck table = TableCheck.open(storage, number, storeId, ledger, problems::add);
    if (table == null) {
      loseAll(name, known, problems);
      return;
    }
    tables.add(table);
    table.run(DISCARD, () -> {});
    bytes += table.fileBytes();
    if (known != null && !table.isDescribedBy(known)) {
      // A table of a copy of this store that was written independently.
      tables.remove(table);
      table.close();
      loseAll(name, known, problems);
      return;
    }
    TableMeta meta = known == null ? table.properties() : known;
    table.search(DISCARD, () -> {});
    largestSequence =
        Math.max(largestSequence, meta == null ? table.largestSequence() : meta.largestSequence());
    if (meta == null) {
      numbers.add(new Numbers(table.largestSequence(), /* mayBeLoaded= */ true));
    } else if (known == null) {
      numbers.add(new Numbers(meta.largestSequence(), table.isLoaded()));
    }
    if (!table.hasBlocks()) {
      loseAll(name, meta, problems);
      return;
    }
    if (meta == null || table.entryCount() < meta.entryCount()) {
      for (LostBlocks lost : table.lostBlocks()) {
        lose(name, lost, meta);
      }
    }
    RangeTombstones deleted = table.ranges();
    if (deleted != null) {
      ranges.add(deleted);
    } else if (known == null || known.rangeCount() > 0) {
      losses.add(
          name,
          problems.isEmpty() ? 0 : problems.get(0).offset(),
          table.fileBytes(),
          "which ranges of keys were deleted");
      loseKeys(meta);
    }
  }

  /**
   * Without a manifest, returns whether tables of a bulk load may not have been installed. Writes
   * committed after a load have higher sequence numbers, earlier ones lower, so a load is doubtful
   * if nothing is newer.
   *
   * @param logEnd the sequence number after the log
   */
  boolean doubtLoads(long logEnd) {
    long last = 0;
    for (Numbers table : numbers) {
      if (table.mayBeLoaded() && table.largest() >= logEnd) {
        last = Math.max(last, table.largest());
      }
    }
    long committed = logEnd - 1;
    for (Numbers table : numbers) {
      if (!table.mayBeLoaded()) {
        committed = Math.max(committed, table.largest());
      }
    }
    for (Numbers table : numbers) {
      if (table.largest() <= committed) {
        settledSequence = Math.max(settledSequence, table.largest());
      }
    }
    doubtfulFrom = last > committed ? committed + 1 : Long.MAX_VALUE;
    return last > committed;
  }

  /** Entries of all valid blocks. The caller closes the iterator before this object. */
  MergingIterator merged() {
    try (IteratorSources sources = new IteratorSources()) {
      for (TableCheck table : tables) {
        if (table.hasBlocks()) {
          sources.add(table.iterator(ledger));
        }
      }
      return sources.merge(ledger);
    }
  }

  RangeTombstones ranges() {
    return ranges.build();
  }

  /** Highest sequence number known to have been in a table. */
  long largestSequence() {
    return largestSequence;
  }

  /** As {@link #largestSequence}, for tables known to have been installed. */
  long settledSequence() {
    return settledSequence;
  }

  /** Entries from this sequence number on may never have been installed. */
  long doubtfulFrom() {
    return doubtfulFrom;
  }

  int count() {
    return count;
  }

  long bytes() {
    return bytes;
  }

  @Override
  public void close() {
    tables.forEach(TableCheck::close);
  }

  private void loseAll(String name, @Nullable TableMeta meta, List<CorruptionException> problems) {
    String why = problems.isEmpty() ? "" : ": " + Losses.describe(problems.get(0));
    String what =
        meta == null
            ? "a whole table" + why
            : "a whole table of " + meta.entryCount() + " entries" + why;
    losses.add(name, 0, Math.max(1, directory.length(name)), what);
    loseKeys(meta);
  }

  private void loseKeys(@Nullable TableMeta meta) {
    if (meta == null) {
      lostKeys.add(null, null, Long.MAX_VALUE, null);
    } else {
      lostKeys.add(meta.smallestKey(), meta.largestKey(), meta.largestSequence(), meta.segments());
    }
  }

  private void lose(String name, LostBlocks lost, @Nullable TableMeta meta) {
    byte[] from = lost.above();
    byte[] to = lost.below();
    if (meta != null) {
      from = from == null ? meta.smallestKey() : from;
      to = to == null ? meta.largestKey() : to;
    }
    losses.add(
        name,
        lost.from(),
        lost.to(),
        "entries with stored keys from " + text(from) + " to " + text(to));
    // Only older entries of the preceding key can be lost: the newest comes first in a table.
    byte[] first =
        lost.above() == null ? from : Arrays.copyOf(lost.above(), lost.above().length + 1);
    if (meta == null) {
      lostKeys.add(first, to, Long.MAX_VALUE, null);
    } else {
      lostKeys.add(first, to, meta.largestSequence(), meta.segments());
    }
  }

  private static String text(byte @Nullable [] key) {
    return key == null ? "anywhere" : HexFormat.of().formatHex(key);
  }
}
