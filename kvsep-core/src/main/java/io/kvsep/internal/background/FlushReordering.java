package io.kvsep.internal.background;

import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.BlobFileWriter;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Has flushes copy values in key order if the store does not fit into memory or is large. The log
 * holds them in write order, so a scan would need a device read for nearly each. The flush copies a
 * memtable's records into a blob file, to which the level 0 table points; see docs/decisions/11.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: The blob file is durable before the table is complete, and one edit adds both. After a
 *       crash before that edit, the next open removes both and replays the log.
 *   <li>I2: Until the edit is installed replay starts before the records, so none of their segments
 *       is dropped or rewritten. Older read states keep these segments.
 *   <li>I3: The record of each version of a key is copied, or the entry keeps its pointer, as it
 *       does for long records and those that an open change feed has not read. The blob file lists
 *       the old positions, from which repair derives the age of its records.
 *   <li>I4: Before the edit no version has the file, so reclaim does not take it and no compaction
 *       points into it.
 *   <li>I5: A flush does not fail because of the copy. If a record is damaged or I/O fails, the
 *       memtable is flushed with its pointers unchanged.
 * </ul>
 *
 * <p>One flush runs at a time. {@link #bytesWritten} is thread safe.
 */
public final class FlushReordering {
  /** A file is worth this part of the log bytes that a memtable may always cover. */
  private static final int LEAST_PARTS = 32;

  /** Three memtables of this part leave most of half the memory to other uses. */
  private static final int COVERED_PARTS = 16;

  /** A memtable may always cover this many times what is worth a file. */
  private static final int COVERED_LEAST = 4;

  private final EngineConfig config;
  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;
  private final LongSupplier logBytes;

  /** The oldest segment that a change feed may still read. */
  private final LongSupplier followedFrom;

  private final AtomicLong bytesWritten = new AtomicLong();

  public FlushReordering(
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

  /** Writes the table of a memtable; calls {@code pointers} for each entry with a pointer. */
  interface Flush {
    List<TableMeta> run(PointerRefresh pointers) throws IOException;
  }

  /** Bytes of installed blob files, those of compactions included. */
  long bytesWritten() {
    return bytesWritten.get();
  }

  /** Flushes a memtable, with its values in key order if that pays. */
  Output run(Memtable memtable, Flush flush) throws IOException {
    FlushPlan plan = isLarge() ? plan(memtable) : null;
    if (plan != null && plan.scattered() && plan.bytes() >= leastBytes()) {
      Values values = new Values(plan);
      try {
        return new Output(flush.run(values), values);
      } catch (CancellationException e) {
        values.close();
        throw e;
      } catch (IOException | RuntimeException | Error e) {
        // I5. A read of a damaged record will report it.
        values.close();
        PageFaults.throwOther(e);
      }
    }
    return new Output(flush.run(PointerRefresh.NONE), null);
  }

  /**
   * Log bytes that one memtable may cover; {@link Long#MAX_VALUE} if the store fits into memory.
   * They are not in key order yet, so scans need them in memory. Cheap.
   */
  long coveredBytesMax(Version version) {
    long live = version.liveBytes();
    long orderFrom = config.reclaim().orderFromBytes().getAsLong();
    return live >= leastBytes() && live > orderFrom
        ? Math.max(COVERED_LEAST * leastBytes(), orderFrom / COVERED_PARTS)
        : Long.MAX_VALUE;
  }

  /**
   * Values up to this length are stored with their key. Each compaction writes such a value again,
   * so a large store, where writing to the device is the limit, keeps fewer of them.
   */
  int inlineValueBytesMax() {
    EngineConfig.Values values = config.values();
    return isLarge() ? values.inlineBytesMaxIfLarge() : values.inlineBytesMax();
  }

  private boolean isLarge() {
    return bytes() > config.values().largeFromBytes() || outgrowsMemory();
  }

  /** False if the store holds less than one file. */
  private boolean outgrowsMemory() {
    long bytes = bytes();
    return bytes >= leastBytes()
        && (segments.cold().isCold() || bytes > config.reclaim().orderFromBytes().getAsLong());
  }

  private long bytes() {
    return logBytes.getAsLong() + versions.current().tableBytes();
  }

  /**
   * Moves inline values of a compaction into blob files; null unless its tables have values that
   * were stored inline before the store became so large.
   */
  @Nullable ValueSeparation separation(CompactionPlan plan, PointerRefresh pointers) {
    int inlineBytesMax = inlineValueBytesMax();
    boolean worth =
        inlineBytesMax < config.values().inlineBytesMax()
            && ValueSeparation.isWorth(plan, inlineBytesMax, leastBytes());
    return worth
        ? new ValueSeparation(
            config,
            versions,
            ledger,
            new NewSegments(config, versions, segments, epochs, ledger, bytesWritten),
            pointers,
            inlineBytesMax)
        : null;
  }

  private long leastBytes() {
    return config.shape().memtables().logBytesMin() / LEAST_PARTS;
  }

  /** Of a large store in memory, just the values that a smaller one would have inline. */
  private FlushPlan plan(Memtable memtable) {
    int valueBytesMax = outgrowsMemory() ? Integer.MAX_VALUE : config.values().inlineBytesMax();
    try (InternalIterator entries = memtable.iterator()) {
      return FlushPlan.of(entries, followedFrom.getAsLong(), valueBytesMax);
    }
  }

  /** Output of a flush. Closing it removes blob files that are not installed. */
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

    /** Adds the blob files, which the edit owns from now on. */
    void addValues(VersionEdit edit) {
      if (values != null) {
        values.files.addTo(edit);
      }
    }

    /** The edit is in force. */
    void installed() {
      if (values != null) {
        values.files.installed();
      }
    }

    @Override
    public void close() {
      if (values != null) {
        values.close();
      }
    }
  }

  /**
   * Copies the value of each entry that the flush writes, and answers with a pointer to the copy.
   * The files have about a segment's length.
   */
  private final class Values implements PointerRefresh, AutoCloseable {
    private final FlushPlan plan;
    private final long fileBytesMax =
        Math.min(config.values().segmentBytes(), BlobFileWriter.FILE_BYTES_MAX / 2);
    private final NewSegments files =
        new NewSegments(config, versions, segments, epochs, ledger, bytesWritten);
    private @Nullable BlobFileWriter writer;

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
                plan.records());
        writer = current;
      }
      return current;
    }

    private void finishFile(BlobFileWriter current) throws IOException {
      files.add(current.fileId(), current.finish());
      writer = null;
      current.close();
    }

    @Override
    public void endTable() throws IOException {
      if (writer != null) {
        finishFile(writer);
      }
    }

    @Override
    public void close() {
      try {
        if (writer != null) {
          writer.close();
        }
      } finally {
        files.close();
      }
    }
  }
}
