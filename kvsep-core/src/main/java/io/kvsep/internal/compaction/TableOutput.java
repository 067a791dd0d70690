package io.kvsep.internal.compaction;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes the entries that survive into one or more tables. Any failure deletes everything it wrote:
 * the inputs are untouched until somebody commits {@link #finish}'s result. Not thread safe.
 */
final class TableOutput implements AutoCloseable {
  /** Entries between two looks at the cancellation flag. */
  private static final int CANCEL_CHECK_ENTRIES = 1024;

  private final Storage storage;
  private final MemoryLedger ledger;
  private final CompactionConfig config;
  private final LongSupplier fileNumbers;
  private final long tableBytes;
  private final List<TableMeta> metas = new ArrayList<>();
  private final List<String> names = new ArrayList<>();
  private @Nullable TableWriter writer;
  private boolean finished;

  /**
   * @param tableBytes length at which a table ends, at the next change of key
   */
  TableOutput(
      Storage storage,
      MemoryLedger ledger,
      CompactionConfig config,
      LongSupplier fileNumbers,
      long tableBytes) {
    this.storage = storage;
    this.ledger = ledger;
    this.config = config;
    this.fileNumbers = fileNumbers;
    this.tableBytes = tableBytes;
  }

  /** Writes all entries of {@code input} that {@code filter} keeps. */
  void writeAll(InternalIterator input, VersionFilter filter, BooleanSupplier cancelled)
      throws IOException {
    int untilCheck = CANCEL_CHECK_ENTRIES;
    for (input.seekToFirst(); input.isValid(); input.next()) {
      if (--untilCheck == 0) {
        if (cancelled.getAsBoolean()) {
          throw new CancellationException("the store is closing");
        }
        untilCheck = CANCEL_CHECK_ENTRIES;
      }
      VersionFilter.Verdict verdict = filter.judge(input);
      if (verdict == VersionFilter.Verdict.DROP) {
        continue;
      }
      if (writer != null && filter.isNewKey() && writer.fileBytesEstimate() >= tableBytes) {
        finishTable();
      }
      TableWriter target = writer();
      if (verdict == VersionFilter.Verdict.KEEP) {
        target.add(input);
      } else {
        target.add(
            input.keyRegion(),
            input.keyOffset(),
            input.keyLength(),
            Tag.of(Tag.sequence(input.tag()), Tag.DELETE),
            input.payloadRegion(),
            input.payloadOffset(),
            0);
      }
    }
  }

  /** The tables, durable with their directory entries; perhaps none. */
  List<TableMeta> finish() throws IOException {
    finishTable();
    if (!metas.isEmpty()) {
      storage.syncDirectory();
    }
    finished = true;
    return List.copyOf(metas);
  }

  /** Frees what is held; deletes all output unless {@link #finish} succeeded. */
  @Override
  public void close() {
    if (writer != null) {
      writer.close();
      writer = null;
    }
    if (finished) {
      return;
    }
    for (String name : names) {
      try {
        storage.delete(name);
      } catch (IOException e) {
        // The file stays behind as an orphan, which the next open removes; the failure that brought
        // us here is the one worth reporting.
      }
    }
  }

  private TableWriter writer() throws IOException {
    TableWriter current = writer;
    if (current == null) {
      long number = fileNumbers.getAsLong();
      String name = StoreFiles.table(number);
      names.add(name);
      current = new TableWriter(storage.create(name), number, config.table(), ledger);
      writer = current;
    }
    return current;
  }

  private void finishTable() throws IOException {
    TableWriter current = writer;
    if (current != null) {
      metas.add(current.finish());
      current.close();
      writer = null;
    }
  }
}
