package io.kvsep.internal.background;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.BlobFileWriter;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Has flushes put values in the order of their keys where the store does not fit into memory. In
 * the log they lie as they were written, so a scan would fetch nearly each with a read of its own.
 * The flush of a memtable then copies its records into a relocated file beside the table of level
 * 0, and the pointers in that table name the file; docs/decisions/11.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>The file is durable before the table is whole, and one edit adds both. After a crash before
 *       it the next open removes them and replays the log.
 *   <li>Until the edit is in force the records stay in the log: it is replayed from in front of
 *       them, so no segment of theirs is dropped or rewritten. Afterwards a view of before still
 *       has a version that holds these segments.
 *   <li>Every version that the flush keeps has its record copied, or keeps its pointer: a long one,
 *       and one that an open change feed has not read. Those of the file keep their old places in
 *       its relocations, by which repair tells their age.
 *   <li>Reclaim takes no file that no version has, and no compaction points into it.
 *   <li>A flush does not fail for this. Where a record does not hold, or something cannot be read
 *       or written, the memtable is flushed with its pointers as they are.
 * </ol>
 *
 * <p>One flush at a time; the count may be asked by any thread.
 */
public final class FlushOrdering {
  /** Less than such a part of the log that one memtable may always cover is not worth a file. */
  private static final int LEAST_PARTS = 32;

  /** Three memtables of such a part of half the memory leave most of it to others. */
  private static final int COVERED_PARTS = 16;

  /** A memtable may cover so many times what is worth a file, however little memory there is. */
  private static final int COVERED_LEAST = 4;

  private final EngineConfig config;
  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;
  private final LongSupplier logBytes;

  /** The oldest segment that a reader of changes may still want. */
  private final LongSupplier followedFrom;

  private final AtomicLong bytesWritten = new AtomicLong();

  /** Asked once; negative until then. */
  private volatile long orderFrom = -1;

  public FlushOrdering(
      EngineConfig config,
      VersionSet versions,
      SegmentDirectory segments,
      Epochs<?> epochs,
      MemoryLedger ledger,
      LongSupplier logBytes,
      LongSupplier followedFrom) {
    this.config = config;
    this.versions = versions;
    this.segments = segments;
    this.epochs = epochs;
    this.ledger = ledger;
    this.logBytes = logBytes;
    this.followedFrom = followedFrom;
  }

  /** Writes the tables of a memtable, as {@link io.kvsep.internal.compaction.FlushJob} does. */
  interface Flush {
    List<TableMeta> run(PointerRefresh pointers) throws IOException;
  }

  /** Bytes of files that flushes have put in force. */
  long bytesWritten() {
    return bytesWritten.get();
  }

  /** Flushes a memtable, with its values in order where that pays. */
  Output run(Memtable memtable, Flush flush) throws IOException {
    FlushPlan plan = outgrowsMemory() ? plan(memtable) : null;
    if (plan != null && plan.scattered() && plan.bytes() >= leastBytes()) {
      Values values = new Values(plan);
      try {
        return new Output(flush.run(values), values);
      } catch (CancellationException e) {
        values.close();
        throw e;
      } catch (IOException | RuntimeException | Error e) {
        // It goes on without. A read of what is damaged will report it.
        values.close();
      }
    }
    return new Output(flush.run(PointerRefresh.NONE), null);
  }

  /**
   * Log bytes that one memtable may cover, {@link Long#MAX_VALUE} where the store fits into memory:
   * what memtables cover is in no order yet, and has to be in memory where it is scanned. Cheap.
   */
  long coveredBytesMax(Version version) {
    long live = version.liveBytes();
    return live >= leastBytes() && live > orderFromBytes()
        ? Math.max(COVERED_LEAST * leastBytes(), orderFromBytes() / COVERED_PARTS)
        : Long.MAX_VALUE;
  }

  /** Whether the store is larger than memory; a store with less than a file is not. */
  private boolean outgrowsMemory() {
    long bytes = logBytes.getAsLong() + versions.current().tableBytes();
    return bytes >= leastBytes() && (segments.cold().isCold() || bytes > orderFromBytes());
  }

  private long orderFromBytes() {
    long known = orderFrom;
    if (known < 0) {
      known = config.reclaim().orderFromBytes().getAsLong();
      orderFrom = known;
    }
    return known;
  }

  private long leastBytes() {
    return config.shape().memtableLogBytesMin() / LEAST_PARTS;
  }

  private FlushPlan plan(Memtable memtable) {
    try (InternalIterator entries = memtable.iterator()) {
      return FlushPlan.of(entries, followedFrom.getAsLong());
    }
  }

  /** What a flush has written; what is not in force when this is closed is taken back. */
  static final class Output implements AutoCloseable {
    private final List<TableMeta> tables;
    private final @Nullable Values values;

    private Output(List<TableMeta> tables, @Nullable Values values) {
      this.tables = tables;
      this.values = values;
    }

    List<TableMeta> tables() {
      return tables;
    }

    /** Adds the files of values. From now on the edit decides over them. */
    void addValues(VersionEdit edit) {
      if (values != null) {
        values.addTo(edit);
      }
    }

    @Override
    public void close() {
      if (values != null) {
        values.close();
      }
    }
  }

  /** The values of one memtable, in files of about a segment's length each. */
  private final class Values implements PointerRefresh, AutoCloseable {
    private final FlushPlan plan;
    private final long fileBytesMax =
        Math.min(config.segmentBytes(), BlobFileWriter.FILE_BYTES_MAX / 2);
    private final List<Segment> files = new ArrayList<>();
    private @Nullable BlobFileWriter writer;

    /** Whether an edit may have named the files. */
    private boolean named;

    Values(FlushPlan plan) {
      this.plan = plan;
    }

    @Override
    public int refresh(InternalIterator entry, long pointerOffset, Region target, long targetOffset)
        throws IOException {
      Region pointer = entry.payloadRegion();
      if (!plan.takes(pointer, pointerOffset)) {
        return 0;
      }
      BlobFileWriter file = writerWithRoom();
      copy(epochs, entry, pointerOffset, file);
      long end =
          ValuePointer.put(
              target,
              targetOffset,
              file.fileId(),
              file.offset(),
              ValuePointer.recordLength(pointer, pointerOffset),
              ValuePointer.valueLength(pointer, pointerOffset));
      return (int) (end - targetOffset);
    }

    private <C extends SlotContext> void copy(
        Epochs<C> inside, InternalIterator entry, long pointerOffset, BlobFileWriter file)
        throws IOException {
      EpochSlot<C> slot = inside.vacant();
      try {
        slot = inside.enter(slot);
        file.add(
            entry.payloadRegion(),
            pointerOffset,
            entry.keyRegion(),
            entry.keyOffset(),
            entry.keyLength());
      } finally {
        inside.exit(slot);
      }
    }

    private BlobFileWriter writerWithRoom() throws IOException {
      BlobFileWriter current = writer;
      if (current != null && current.bytes() >= fileBytesMax) {
        finishFile(current);
        current = null;
      }
      if (current == null) {
        current =
            new BlobFileWriter(
                config.storage(),
                versions.storeId(),
                versions.newSegmentId(),
                ledger,
                segments,
                plan.records(),
                Limits.PIECE_BYTES_MIN);
        writer = current;
      }
      return current;
    }

    private void finishFile(BlobFileWriter current) throws IOException {
      long bytes = current.finish();
      files.add(
          Segment.openRelocated(
              config.storage(), versions.storeId(), current.fileId(), bytes, epochs, ledger));
      writer = null;
      current.close();
    }

    @Override
    public void finish() throws IOException {
      if (writer != null) {
        finishFile(writer);
      }
    }

    void addTo(VersionEdit edit) {
      for (Segment file : files) {
        edit.addRelocated(file.id(), file.publishedEnd());
        segments.add(file);
        bytesWritten.addAndGet(file.publishedEnd());
      }
      named = true;
    }

    @Override
    public void close() {
      if (writer != null) {
        writer.close();
      }
      // After an error they may be in force all the same.
      Map<Long, ?> inForce = versions.current().segments();
      for (Segment file : files) {
        if (!inForce.containsKey(file.id())) {
          takeBack(file);
        }
      }
    }

    private void takeBack(Segment file) {
      segments.unlist(file.id());
      epochs.retire(file::free);
      if (!named) {
        delete(file);
      }
    }

    private void delete(Segment file) {
      try {
        config.storage().delete(StoreFiles.segment(file.id()));
      } catch (IOException e) {
        // It stays as an orphan; the next open removes it.
        return;
      }
    }
  }
}
