package io.kvsep.internal.reclaim;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.LevelIterator;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.BlobFileWriter;
import io.kvsep.internal.vlog.PageWarmer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;

/**
 * Carries out a plan: walks those tables of a version that reference the victims, in key order, and
 * copies each record they reference into one new file.
 *
 * <p>What the tables reference is what lives, so nothing is looked up and nothing guessed: an entry
 * that only a snapshot needs is in a table too. Tables that come later reference no record of a
 * victim that these do not: memtables point behind the victims, and compaction only drops.
 */
public final class ReclaimJob {
  /** Bytes copied between two looks at the world. */
  private static final long STEP_BYTES = 1 << 20;

  /** Entries walked between two looks at the world. */
  private static final int STEP_ENTRIES = 4096;

  /** The new file. */
  public record Output(long fileBytes, long recordBytes) {}

  private final ReclaimContext context;
  private final ReclaimPlan plan;
  private final Set<Long> wanted;
  private long recordBytes;

  private ReclaimJob(ReclaimContext context, ReclaimPlan plan) {
    this.context = context;
    this.plan = plan;
    this.wanted = plan.segments().keySet();
  }

  /**
   * Writes the file, durable with its directory entry. Nothing refers to it yet; a failure leaves
   * none behind and the victims as they were.
   *
   * @param version retained by the caller; its tables say what lives
   * @param fileId the new file's
   * @throws CorruptionException naming the file that is damaged: a victim, or a table
   * @throws IncompatibleFormatException naming the one of which the header is
   * @throws io.kvsep.error.StorageException when the device refused to read one of them
   * @throws InternalError when it did so in a mapping
   * @throws IOException when the new file could not be written
   * @throws CancellationException when the job was told to give up
   */
  public static Output run(ReclaimContext context, Version version, ReclaimPlan plan, long fileId)
      throws IOException {
    return new ReclaimJob(context, plan).run(version, fileId);
  }

  private Output run(Version version, long fileId) throws IOException {
    try (MergingIterator entries = open(version);
        BlobFileWriter writer =
            new BlobFileWriter(
                context.storage(),
                context.storeId(),
                fileId,
                context.ledger(),
                context.segments(),
                plan.segments(),
                context.pieceBytes())) {
      warmUp(context.epochs());
      entries.seekToFirst();
      while (entries.isValid()) {
        context.pace().moved(2 * copySome(context.epochs(), entries, writer));
        if (context.cancelled().getAsBoolean()) {
          throw new CancellationException("the store is closing");
        }
      }
      // The last blocks of the tables too, behind which no other was entered.
      Region.requirePagesRead();
      long bytes = writer.finish();
      return new Output(bytes, recordBytes);
    }
  }

  /**
   * Where most of the victims' bytes are going to be copied, in the order of keys, those that are
   * not in memory would have to be fetched one by one.
   */
  private <C extends SlotContext> void warmUp(Epochs<C> epochs) {
    PageWarmer files = new PageWarmer(context.segments());
    for (long file : plan.files()) {
      files.restart();
      boolean more = true;
      while (more && context.readsAhead().getAsBoolean() && !context.cancelled().getAsBoolean()) {
        EpochSlot<C> slot = epochs.vacant();
        try {
          slot = epochs.enter(slot);
          more = files.step(file);
        } finally {
          epochs.exit(slot);
        }
        context.pace().moved(PageWarmer.STEP_BYTES);
      }
    }
  }

  /** Copies for a while inside the epochs; returns how many bytes. */
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
    if (!writer.isAnnounced(ValuePointer.segment(entry.payloadRegion(), pointer))) {
      return 0;
    }
    return writer.add(
        entry.payloadRegion(), pointer, entry.keyRegion(), entry.keyOffset(), entry.keyLength());
  }

  private MergingIterator open(Version version) {
    try (IteratorSources sources = new IteratorSources()) {
      for (TableFile table : version.tables(0)) {
        if (references(table)) {
          sources.add(table.iterator(context.ledger()));
        }
      }
      for (int level = 1; level < Version.LEVELS; level++) {
        List<TableFile> tables = new ArrayList<>();
        for (TableFile table : version.tables(level)) {
          if (references(table)) {
            tables.add(table);
          }
        }
        if (!tables.isEmpty()) {
          sources.add(new LevelIterator(tables.toArray(new TableFile[0]), context.ledger()));
        }
      }
      return sources.merge(context.ledger());
    }
  }

  private boolean references(TableFile table) {
    for (TableMeta.SegmentUse use : table.meta().segments()) {
      if (wanted.contains(use.segment())) {
        return true;
      }
    }
    return false;
  }
}
