package io.kvsep.internal.compaction;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.sstable.TableWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes the surviving entries and range deletes into tables. Any failure deletes all of them; the
 * inputs stay until the caller commits the result of {@link #finish}. Not thread safe.
 *
 * <p>A range that continues in the next table is cut just after the last key, so that the tables'
 * key ranges, both ends inclusive, stay disjoint. No key follows just after one of maximum length;
 * there the range is cut after the next shorter key.
 */
final class CompactionOutput implements AutoCloseable {
  /** Entries between two checks for cancellation. */
  private static final int CANCEL_CHECK_ENTRIES = 1024;

  private final Storage storage;
  private final MemoryLedger ledger;
  private final TableOptions options;
  private final LongSupplier fileNumbers;
  private final long tableBytes;
  private final @Nullable Consumer<TableMeta> unsynced;
  private final List<TableMeta> metas = new ArrayList<>();
  private final List<String> names = new ArrayList<>();
  private @Nullable TableWriter writer;
  private boolean finished;
  private PointerRefresh pointers = PointerRefresh.NONE;

  /** The payload of an entry with a new pointer. */
  private final GrowingRegion newPayload;

  private RangeTombstones ranges = RangeTombstones.NONE;

  /** Start of the open table's part of the ranges; null for the first table. */
  private byte @Nullable [] tableStart;

  /** Fragments that end at or before the last key, and their bytes in the open table. */
  private int passedRanges;

  private long passedRangeBytes;

  /** Whether a new key has begun since the last entry was written. */
  private boolean newKey;

  /**
   * @param tableBytes length from which a table ends at the next change of key
   */
  CompactionOutput(
      Storage storage,
      MemoryLedger ledger,
      TableOptions options,
      LongSupplier fileNumbers,
      long tableBytes) {
    this(storage, ledger, options, fileNumbers, tableBytes, /* unsynced= */ null);
  }

  /**
   * @param unsynced makes each finished table and its name durable; null if this class does
   */
  CompactionOutput(
      Storage storage,
      MemoryLedger ledger,
      TableOptions options,
      LongSupplier fileNumbers,
      long tableBytes,
      @Nullable Consumer<TableMeta> unsynced) {
    this.storage = storage;
    this.ledger = ledger;
    this.options = options;
    this.fileNumbers = fileNumbers;
    this.tableBytes = tableBytes;
    this.unsynced = unsynced;
    this.newPayload = new GrowingRegion(ledger, MemoryPurpose.TABLE_BUILD);
  }

  void writeAll(
      InternalIterator input,
      VersionFilter filter,
      PointerRefresh newPointers,
      BooleanSupplier cancelled)
      throws IOException {
    int untilCheck = CANCEL_CHECK_ENTRIES;
    pointers = newPointers;
    ranges = filter.survivingRanges();
    for (input.seekToFirst(); input.isValid(); input.next()) {
      if (--untilCheck == 0) {
        if (cancelled.getAsBoolean()) {
          throw new CancellationException("the store is closing");
        }
        untilCheck = CANCEL_CHECK_ENTRIES;
      }
      write(input, filter);
    }
    passRanges(null);
  }

  /** Apart from the loop, which the JIT compiles for each kind of input. */
  private void write(InternalIterator input, VersionFilter filter) throws IOException {
    VersionFilter.Verdict verdict = filter.judge(input);
    // The first version of a key may be dropped while an older one is kept.
    newKey |= filter.isNewKey();
    if (verdict == VersionFilter.Verdict.DROP) {
      return;
    }
    if (writer != null && newKey && writer.fileBytesEstimate() + passedRangeBytes >= tableBytes) {
      finishTableBefore(input, writer.lastKey());
    }
    newKey = false;
    if (passedRanges < ranges.count()) {
      passRanges(input);
    }
    TableWriter target = writer();
    if (verdict == VersionFilter.Verdict.KEEP) {
      keep(input, target);
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

  private void keep(InternalIterator input, TableWriter target) throws IOException {
    int length = pointers == PointerRefresh.NONE ? 0 : newPayload(input);
    if (length == 0) {
      target.add(input);
      return;
    }
    int expires = Tag.kind(input.tag()) & Tag.EXPIRES;
    target.add(
        input.keyRegion(),
        input.keyOffset(),
        input.keyLength(),
        Tag.of(Tag.sequence(input.tag()), Tag.POINTER | expires),
        newPayload.region(),
        0,
        length);
  }

  /** Builds a payload with a new pointer. Returns its length, 0 if the entry keeps its payload. */
  private int newPayload(InternalIterator input) throws IOException {
    Region payload = newPayload.ensure(Payload.EXPIRY_BYTES + ValuePointer.BYTES_MAX);
    int kind = Tag.kind(input.tag());
    int header = Payload.headerLength(kind);
    int pointer =
        Tag.baseKind(kind) == Tag.POINTER
            ? pointers.refresh(input, input.payloadOffset() + header, payload, header)
            : pointers.separate(input, payload, header);
    if (pointer == 0) {
      return 0;
    }
    payload.put(0, input.payloadRegion(), input.payloadOffset(), header);
    return header + pointer;
  }

  /**
   * Counts the fragments before an entry, all for null. Very many without an entry end a table in a
   * gap between them.
   */
  private void passRanges(@Nullable InternalIterator before) throws IOException {
    while (passedRanges < ranges.count()) {
      byte[] end = ranges.end(passedRanges);
      int order =
          before == null
              ? 1
              : before.keyRegion().compareTo(before.keyOffset(), before.keyLength(), end);
      if (order < 0) {
        return;
      }
      passedRangeBytes += ranges.bytes(passedRanges);
      passedRanges++;
      boolean gap =
          order > 0
              && (passedRanges == ranges.count()
                  || Arrays.compareUnsigned(end, ranges.start(passedRanges)) < 0);
      if (passedRangeBytes >= tableBytes && gap) {
        finishTable(end);
      }
    }
  }

  /** The tables, possibly none, durable with their names unless {@code unsynced} received them. */
  List<TableMeta> finish() throws IOException {
    finishTable(null);
    if (!metas.isEmpty() && unsynced == null) {
      storage.syncDirectory();
    }
    finished = true;
    return List.copyOf(metas);
  }

  /** Deletes all output unless {@link #finish} succeeded. */
  @Override
  public void close() {
    newPayload.close();
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
        // The next open removes the orphan. Report the original failure.
      }
    }
  }

  private TableWriter writer() throws IOException {
    TableWriter current = writer;
    return current == null ? newWriter() : current;
  }

  private TableWriter newWriter() throws IOException {
    long number = fileNumbers.getAsLong();
    String name = StoreFiles.table(number);
    names.add(name);
    TableWriter created = new TableWriter(storage.create(name), number, options, ledger);
    writer = created;
    return created;
  }

  /** Ends the table with the ranges up to {@code end}, all for null. */
  private void finishTable(byte @Nullable [] end) throws IOException {
    RangeTombstones part = ranges.isEmpty() ? ranges : ranges.clip(tableStart, end);
    if (writer != null || !part.isEmpty()) {
      // First, because repair assumes that a complete table leads to its values.
      pointers.endTable();
      TableWriter current = writer();
      TableMeta table = unsynced == null ? current.finish(part) : current.finishUnsynced(part);
      metas.add(table);
      current.close();
      writer = null;
      if (unsynced != null) {
        unsynced.accept(table);
      }
    }
    tableStart = end;
    passedRangeBytes = 0;
    // Fragments within the finished table must not count towards the next one.
    while (end != null
        && passedRanges < ranges.count()
        && Arrays.compareUnsigned(ranges.end(passedRanges), end) <= 0) {
      passedRanges++;
    }
  }

  /**
   * Ends the table between its last key and {@code next}. If ranges must be cut and no valid key
   * lies there, it ends at most 255 keys later: those before the next shorter key differ only in
   * their last byte.
   */
  private void finishTableBefore(InternalIterator next, byte[] lastKey) throws IOException {
    byte[] end =
        ranges.isEmpty() || lastKey.length < Limits.STORED_KEY_BYTES_MAX
            ? Arrays.copyOf(lastKey, lastKey.length + 1)
            : behindShorterKey(lastKey);
    if (end != null && next.keyRegion().compareTo(next.keyOffset(), next.keyLength(), end) >= 0) {
      finishTable(end);
    }
  }

  /** The first key after the next shorter key; null if there is none. */
  private static byte @Nullable [] behindShorterKey(byte[] key) {
    int last = key.length - 2;
    while (last >= 0 && key[last] == (byte) 0xff) {
      last--;
    }
    if (last < 0) {
      return null;
    }
    byte[] end = Arrays.copyOf(key, last + 2);
    end[last]++;
    end[last + 1] = 0;
    return end;
  }
}
