package io.kvsep.internal.load;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.SortedBlobWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes values that are not stored inline to blob files of about a segment's length, which belong
 * to the load's {@link LoadFiles}. Not thread safe.
 */
final class LoadValues implements AutoCloseable {
  record ValueFile(long id, long bytes) {}

  private final EngineConfig config;
  private final VersionSet versions;
  private final MemoryLedger ledger;
  private final LoadFiles owned;
  private final LoadSyncs syncs;
  private final Frame.Encoding encoding;
  private final long fileBytesMax;
  private final List<ValueFile> finished = new ArrayList<>();
  private @Nullable SortedBlobWriter current;

  LoadValues(
      EngineConfig config,
      VersionSet versions,
      MemoryLedger ledger,
      LoadFiles owned,
      LoadSyncs syncs) {
    this.config = config;
    this.versions = versions;
    this.ledger = ledger;
    this.owned = owned;
    this.syncs = syncs;
    this.encoding =
        new Frame.Encoding(config.values().inlineBytesMax(), config.values().compressionBytesMin());
    this.fileBytesMax = Math.min(config.values().segmentBytes(), SortedBlobWriter.FILE_BYTES_MAX);
  }

  /** Writes an off-heap value and a pointer to it; returns the pointer's length. */
  int add(
      Region key,
      long keyOffset,
      int keyLength,
      long expiresAtMillis,
      Region value,
      long valueOffset,
      int valueLength,
      Region pointer,
      long pointerOffset)
      throws IOException {
    SortedBlobWriter file = fileFor(keyLength, valueLength);
    file.add(key, keyOffset, keyLength, expiresAtMillis, value, valueOffset, valueLength);
    return point(file, valueLength, pointer, pointerOffset);
  }

  /** For a value of any length on the heap. */
  int add(
      Region key,
      long keyOffset,
      int keyLength,
      long expiresAtMillis,
      byte[] value,
      Region pointer,
      long pointerOffset)
      throws IOException {
    SortedBlobWriter file = fileFor(keyLength, value.length);
    file.add(key, keyOffset, keyLength, expiresAtMillis, value);
    return point(file, value.length, pointer, pointerOffset);
  }

  List<ValueFile> finish() throws IOException {
    finishCurrent();
    return finished;
  }

  @Override
  public void close() {
    if (current != null) {
      current.close();
      current = null;
    }
  }

  private static int point(
      SortedBlobWriter file, int valueLength, Region pointer, long pointerOffset) {
    long end =
        ValuePointer.put(
            pointer, pointerOffset, file.fileId(), file.offset(), file.recordLength(), valueLength);
    return (int) (end - pointerOffset);
  }

  private SortedBlobWriter fileFor(int keyLength, int valueLength) throws IOException {
    SortedBlobWriter file = current;
    if (file != null
        && (file.bytes() >= fileBytesMax
            || file.bytesWith(keyLength, valueLength) > SortedBlobWriter.FILE_BYTES_MAX)) {
      finishCurrent();
      file = null;
    }
    if (file == null) {
      long id = versions.newSegmentId();
      owned.add(StoreFiles.segment(id));
      file = new SortedBlobWriter(config.storage(), versions.storeId(), id, ledger, encoding);
      current = file;
    }
    return file;
  }

  private void finishCurrent() throws IOException {
    SortedBlobWriter file = current;
    if (file != null) {
      ValueFile written = new ValueFile(file.fileId(), file.finish());
      finished.add(written);
      owned.finished(written);
      file.close();
      current = null;
      syncs.begin(StoreFiles.segment(file.fileId()));
    }
  }
}
