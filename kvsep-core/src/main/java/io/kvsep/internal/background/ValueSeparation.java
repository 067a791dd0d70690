package io.kvsep.internal.background;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.SortedBlobWriter;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Moves inline values of a compaction's tables into blob files, one or more for each table. They
 * are from the time when the store fitted into memory; else each compaction of the last level would
 * write them again. See docs/decisions/01.
 *
 * <p>The files have no old positions to list. Like an inline value, a record in one is lost with
 * the table that points to it. Not thread safe.
 */
final class ValueSeparation implements PointerRefresh, AutoCloseable {
  /** What an entry with a pointer takes in a table, at most, if keys are not very long. */
  private static final int POINTER_ENTRY_BYTES = 32;

  /** LZ4 in native code would read a mapped page that may be unreadable by now. */
  private static final Frame.Encoding ENCODING =
      new Frame.Encoding(
          /* inlineValueBytesMax= */ 0, /* compressionBytesMin= */ Integer.MAX_VALUE);

  private final EngineConfig config;
  private final VersionSet versions;
  private final MemoryLedger ledger;
  private final NewSegments files;
  private final PointerRefresh pointers;
  private final int inlineBytesMax;
  private final long fileBytesMax;
  private @Nullable SortedBlobWriter writer;

  ValueSeparation(
      EngineConfig config,
      VersionSet versions,
      MemoryLedger ledger,
      NewSegments files,
      PointerRefresh pointers,
      int inlineBytesMax) {
    this.config = config;
    this.versions = versions;
    this.ledger = ledger;
    this.files = files;
    this.pointers = pointers;
    this.inlineBytesMax = inlineBytesMax;
    this.fileBytesMax =
        Math.min(config.values().segmentBytes(), SortedBlobWriter.FILE_BYTES_MAX / 2);
  }

  /** Whether the plan's tables have much in values longer than {@code inlineBytesMax}. */
  static boolean isWorth(CompactionPlan plan, int inlineBytesMax, long leastBytes) {
    long bytes = 0;
    long inlineEntries = 0;
    for (TableFile file : plan.tables()) {
      TableMeta table = file.meta();
      long pointers = table.segments().stream().mapToLong(TableMeta.SegmentUse::records).sum();
      bytes += table.fileBytes() - pointers * POINTER_ENTRY_BYTES;
      inlineEntries += table.entryCount() - table.tombstoneCount() - pointers;
    }
    return !plan.move() && bytes >= leastBytes && bytes > inlineEntries * inlineBytesMax;
  }

  @Override
  public int refresh(InternalIterator entry, long pointerOffset, Region target, long targetOffset)
      throws IOException {
    return pointers.refresh(entry, pointerOffset, target, targetOffset);
  }

  @Override
  public int separate(InternalIterator entry, Region target, long targetOffset) throws IOException {
    int kind = Tag.kind(entry.tag());
    int header = Payload.headerLength(kind);
    int length = entry.payloadLength() - header;
    if (length <= inlineBytesMax) {
      return 0;
    }
    SortedBlobWriter file = writerFor(entry.keyLength(), length);
    Region payload = entry.payloadRegion();
    file.add(
        entry.keyRegion(),
        entry.keyOffset(),
        entry.keyLength(),
        Payload.expiresAtMillis(kind, payload, entry.payloadOffset()),
        payload,
        entry.payloadOffset() + header,
        length);
    long end =
        ValuePointer.put(
            target, targetOffset, file.fileId(), file.offset(), file.recordLength(), length);
    return (int) (end - targetOffset);
  }

  private SortedBlobWriter writerFor(int keyLength, int valueLength) throws IOException {
    SortedBlobWriter file = writer;
    if (file != null && file.bytesWith(keyLength, valueLength) > fileBytesMax) {
      endTable();
      file = null;
    }
    if (file == null) {
      file =
          new SortedBlobWriter(
              config.storage(), versions.storeId(), versions.newSegmentId(), ledger, ENCODING);
      writer = file;
    }
    return file;
  }

  @Override
  public void endTable() throws IOException {
    pointers.endTable();
    SortedBlobWriter file = writer;
    if (file == null) {
      return;
    }
    files.add(file.fileId(), file.finishDurable());
    writer = null;
    file.close();
  }

  /** Lists the files for readers; the edit owns them from now on. */
  void addTo(VersionEdit edit) {
    files.addTo(edit);
  }

  void installed() {
    files.installed();
  }

  /** Removes the files unless they are installed. */
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
