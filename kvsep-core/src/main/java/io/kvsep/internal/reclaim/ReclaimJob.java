package io.kvsep.internal.reclaim;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.LevelIterator;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.BlobFileWriter;
import io.kvsep.internal.vlog.Segment;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;

/**
 * Executes a plan: iterates in key order over the tables that reference the victims, and copies
 * each referenced record to one new file.
 *
 * <p>A record is live if and only if a table references it, also for a snapshot alone, so no
 * lookups are needed. Later tables reference no other records of a victim: memtables point to later
 * segments, and compaction only drops references.
 */
public final class ReclaimJob {
  /** Bytes copied per stay in the epochs; cancellation is checked in between. */
  private static final long STEP_BYTES = 1 << 20;

  /** Entries visited per stay in the epochs. */
  private static final int STEP_ENTRIES = 4096;

  public record Output(long fileBytes, long recordBytes) {}

  /**
   * @param readsAhead whether victims may be read into memory sequentially before the copy
   * @param unreadable receives the segment of a record that cannot be read, before the job fails
   */
  record Control(
      Pace pace, BooleanSupplier cancelled, BooleanSupplier readsAhead, LongConsumer unreadable) {}

  private final ReclaimContext context;
  private final Control control;
  private final ReclaimPlan plan;
  private final Set<Long> wanted;
  private long recordBytes;

  private ReclaimJob(ReclaimContext context, Control control, ReclaimPlan plan) {
    this.context = context;
    this.control = control;
    this.plan = plan;
    this.wanted = plan.segments().keySet();
  }

  /**
   * Writes the new file and makes it and its directory entry durable. On failure the file is
   * deleted and the victims are unchanged.
   *
   * @param version retained by the caller; its tables define the live records
   * @throws CorruptionException naming the damaged file: a victim or a table
   * @throws IncompatibleFormatException naming the file whose header is damaged
   * @throws StorageException if one of them cannot be read
   * @throws InternalError if a mapped page of one of them cannot be read
   * @throws IOException if the new file cannot be written
   */
  static Output run(
      ReclaimContext context, Control control, Version version, ReclaimPlan plan, long fileId)
      throws IOException {
    return new ReclaimJob(context, control, plan).run(version, fileId);
  }

  private Output run(Version version, long fileId) throws IOException {
    try (MergingIterator entries = tablesOf(version, wanted, context.ledger());
        BlobFileWriter writer =
            new BlobFileWriter(
                context.config().storage(),
                context.versions().storeId(),
                fileId,
                context.ledger(),
                context.segments(),
                plan.segments())) {
      warmUp(context.epochs());
      entries.seekToFirst();
      while (entries.isValid()) {
        control.pace().moved(2 * copySome(context.epochs(), entries, writer));
        if (control.cancelled().getAsBoolean()) {
          throw new CancellationException("the store is closing");
        }
      }
      // The last blocks of the tables have not been checked yet.
      Region.requirePagesRead();
      long bytes = writer.finish();
      return new Output(bytes, recordBytes);
    }
  }

  /**
   * Reads the victims sequentially, because copying them in key order would fetch absent pages one
   * by one.
   */
  private <C extends SlotContext> void warmUp(Epochs<C> epochs) {
    for (long file : plan.files()) {
      boolean more = true;
      for (long at = 0;
          more && control.readsAhead().getAsBoolean() && !control.cancelled().getAsBoolean();
          at += STEP_BYTES) {
        boolean isRead;
        EpochSlot<C> slot = epochs.vacant();
        try {
          slot = epochs.enter(slot);
          Segment segment = context.segments().find(file);
          more = segment != null && at < segment.publishedEnd();
          isRead = segment != null && more && segment.load(at, STEP_BYTES);
        } catch (StorageException | InternalError e) {
          control.unreadable().accept(file);
          throw e;
        } finally {
          epochs.exit(slot);
        }
        control.pace().moved(isRead ? STEP_BYTES : 0);
      }
    }
  }

  private <C extends SlotContext> long copySome(
      Epochs<C> epochs, InternalIterator entries, BlobFileWriter writer) throws IOException {
    long copied = 0;
    EpochSlot<C> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      for (int i = 0; i < STEP_ENTRIES && copied < STEP_BYTES && entries.isValid(); i++) {
        copied += copy(entries, writer);
        entries.next();
      }
    } finally {
      epochs.exit(slot);
    }
    recordBytes += copied;
    return copied;
  }

  private int copy(InternalIterator entry, BlobFileWriter writer) throws IOException {
    int kind = Tag.kind(entry.tag());
    if (Tag.baseKind(kind) != Tag.POINTER) {
      return 0;
    }
    long pointer = entry.payloadOffset() + Payload.headerLength(kind);
    long segment = ValuePointer.segment(entry.payloadRegion(), pointer);
    if (!writer.isAnnounced(segment)) {
      return 0;
    }
    try {
      return writer.add(
          entry.payloadRegion(), pointer, entry.keyRegion(), entry.keyOffset(), entry.keyLength());
    } catch (StorageException | InternalError e) {
      control.unreadable().accept(segment);
      throw e;
    }
  }

  /** All entries of the tables that reference any of the segments, in key order. */
  static MergingIterator tablesOf(Version version, Set<Long> segments, MemoryLedger ledger) {
    try (IteratorSources sources = new IteratorSources()) {
      for (TableFile table : version.tables(0)) {
        if (references(table, segments)) {
          sources.add(table.iterator(ledger));
        }
      }
      for (int level = 1; level < Version.LEVELS; level++) {
        List<TableFile> tables = new ArrayList<>();
        for (TableFile table : version.tables(level)) {
          if (references(table, segments)) {
            tables.add(table);
          }
        }
        if (!tables.isEmpty()) {
          sources.add(new LevelIterator(tables.toArray(new TableFile[0]), ledger));
        }
      }
      return sources.merge(ledger);
    }
  }

  private static boolean references(TableFile table, Set<Long> segments) {
    for (TableMeta.SegmentUse use : table.meta().segments()) {
      if (segments.contains(use.segment())) {
        return true;
      }
    }
    return false;
  }
}
