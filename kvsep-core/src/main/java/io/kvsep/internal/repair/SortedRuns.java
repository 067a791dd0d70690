package io.kvsep.internal.repair;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.sstable.TableReader;
import io.kvsep.internal.sstable.TableWriter;
import io.kvsep.internal.vlog.RecordView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Sorts log records by key and age in memtables of fixed size, which are written out as tables when
 * full. Entries are pointers, so only keys and a few bytes each are written.
 *
 * <p>Records of a key may share an estimated sequence number. Of those in one table the one added
 * last is kept; those in different tables are all kept.
 */
final class SortedRuns implements AutoCloseable {
  /** Store id of the runs, which only this object reads. */
  private static final StoreId OWNER = new StoreId(1, 1);

  private final Storage scratch;
  private final MemoryLedger ledger;
  private final LongSupplier numbers;
  private final long memtableBytes;
  private final GrowingRegion pointer;
  private final Memtable.Splice splice = new Memtable.Splice();
  private final Entry entry = new Entry();
  private final List<TableMeta> runs = new ArrayList<>();
  private final List<TableReader> readers = new ArrayList<>();
  private Memtable memtable;

  /**
   * @param memtableBytes more than the longest key needs
   * @param numbers file numbers of the runs
   */
  SortedRuns(Storage scratch, MemoryLedger ledger, LongSupplier numbers, long memtableBytes) {
    this.scratch = scratch;
    this.ledger = ledger;
    this.numbers = numbers;
    this.memtableBytes = memtableBytes;
    this.pointer = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.memtable = newMemtable();
  }

  /** Adds a put or delete at the position to which pointers refer. */
  void add(Region region, RecordView record, long segment, long offset, long sequence) {
    int kind = record.kind;
    entry.keyRegion = region;
    entry.keyOffset = record.keyOffset;
    entry.keyLength = record.keyLength;
    entry.valueLength = 0;
    if (kind != Tag.DELETE) {
      entry.expiresAtMillis = Tag.expires(kind) ? record.expiresAtMillis(region) : 0;
      kind = Tag.POINTER | (kind & Tag.EXPIRES);
      Region target = pointer.ensure(ValuePointer.BYTES_MAX);
      entry.valueRegion = target;
      entry.valueOffset = 0;
      entry.valueLength =
          (int) ValuePointer.put(target, 0, segment, offset, record.length, record.valueLength);
    }
    entry.tag = Tag.of(sequence, kind);
    if (!memtable.insert(entry, splice)) {
      writeOut();
      if (!memtable.insert(entry, splice)) {
        throw new IllegalStateException("a key is longer than a memtable");
      }
    }
  }

  /**
   * Ends adding and returns all entries in order. The caller closes the iterator before this
   * object.
   */
  InternalIterator merged() {
    writeOut();
    try (IteratorSources sources = new IteratorSources()) {
      TableCache none = new TableCache(0, 0, Runnable::run, ledger, ColdReadPolicy.WARM);
      for (TableMeta run : runs) {
        TableReader reader = TableReader.open(scratch, run, OWNER, none);
        readers.add(reader);
        sources.add(reader.iterator(ledger));
      }
      return sources.merge(ledger);
    } catch (IOException e) {
      throw new StorageException("cannot read what was sorted", e);
    }
  }

  @Override
  public void close() {
    readers.forEach(TableReader::close);
    memtable.free();
    pointer.close();
  }

  private void writeOut() {
    if (memtable.isEmpty()) {
      return;
    }
    long number = numbers.getAsLong();
    try (InternalIterator entries = memtable.iterator();
        TableWriter writer =
            new TableWriter(
                scratch.create(StoreFiles.table(number)),
                number,
                TableOptions.defaults(OWNER),
                ledger)) {
      for (entries.seekToFirst(); entries.isValid(); toNext(entries)) {
        writer.add(entries);
      }
      runs.add(writer.finish());
    } catch (IOException e) {
      throw new StorageException("cannot write what is to be sorted", e);
    }
    memtable.free();
    memtable = newMemtable();
  }

  /** Moves to another key or tag: of equal ones the last added comes first. */
  private static void toNext(InternalIterator entries) {
    Region key = entries.keyRegion();
    long offset = entries.keyOffset();
    int length = entries.keyLength();
    long tag = entries.tag();
    do {
      entries.next();
    } while (entries.isValid()
        && entries.tag() == tag
        && Region.compare(
                entries.keyRegion(), entries.keyOffset(), entries.keyLength(), key, offset, length)
            == 0);
  }

  private Memtable newMemtable() {
    return new Memtable(ledger, memtableBytes, LogPosition.START, memtableBytes);
  }
}
