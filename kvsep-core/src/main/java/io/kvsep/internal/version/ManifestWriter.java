package io.kvsep.internal.version;

import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/**
 * A manifest that this process creates and appends to. Owns the open file. Each edit is written and
 * synced at once. After a failure nothing may be appended unless the manifest {@link #isIntact}.
 * For one thread at a time, except the length.
 */
final class ManifestWriter implements AutoCloseable {
  private static final long LARGE_BYTES = 1 << 20;
  private static final long LARGE_FACTOR = 4;

  private final DurableOutput output;
  private final StorageFile file;
  private final long number;
  private volatile long length;
  private boolean marked;
  private boolean intact = true;
  private long largeFrom;

  private ManifestWriter(DurableOutput output, StorageFile file, long number) {
    this.output = output;
    this.file = file;
    this.number = number;
  }

  /** Begins with {@code snapshot}. The content is synced, the name is not. */
  static ManifestWriter create(DurableOutput output, FileHeader header, VersionEdit snapshot)
      throws IOException {
    StorageFile file = output.storage().create(StoreFiles.manifest(header.number()));
    ManifestWriter writer = new ManifestWriter(output, file, header.number());
    boolean made = false;
    try {
      writer.begin(header, snapshot);
      made = true;
      return writer;
    } finally {
      if (!made) {
        writer.close();
      }
    }
  }

  /**
   * Writes and syncs one edit. If writing fails, for example on a full disk, truncates the partial
   * edit if possible, which needs no space.
   */
  void append(VersionEdit edit) throws IOException {
    try (GrowingRegion scratch = scratch()) {
      long count = putRecord(scratch, 0, edit, length);
      Region record = scratch.region();
      intact = false;
      try {
        output.write(file, record, count, length);
      } catch (IOException e) {
        takeBack(record);
        throw e;
      }
      finish(record, count);
      intact = true;
    }
  }

  /** Whether the file certainly has exactly the appended edits. */
  boolean isIntact() {
    return intact;
  }

  /** Whether a snapshot would be much shorter. */
  boolean isLarge() {
    return length > largeFrom;
  }

  /** No space for a snapshot: the next attempt waits until the file has doubled. */
  void postponeLarge() {
    largeFrom = 2 * length;
  }

  String name() {
    return file.name();
  }

  boolean isMarked() {
    return marked;
  }

  long length() {
    return length;
  }

  @Override
  public void close() {
    try {
      file.close();
    } catch (IOException e) {
      // Everything that matters is synced.
      return;
    }
  }

  private void begin(FileHeader header, VersionEdit snapshot) throws IOException {
    try (GrowingRegion scratch = scratch()) {
      Region region = scratch.ensure(FileHeader.BYTES);
      header.put(region, ManifestFormat.MANIFEST, output.window());
      int offset = FileHeader.BYTES;
      long count = offset + putRecord(scratch, offset, snapshot, offset);
      output.write(file, scratch.region(), count, 0);
      finish(scratch.region(), count);
      largeFrom = Math.max(LARGE_BYTES, LARGE_FACTOR * length);
    }
  }

  /** Puts a record at {@code offset}; returns its length. */
  private long putRecord(GrowingRegion scratch, long offset, VersionEdit edit, long fileOffset) {
    long start = offset + ManifestFormat.RECORD_HEADER_BYTES;
    long editLength = new EditEncoder(scratch, start).encode(edit) - start;
    Region region = scratch.region();
    int crc = output.window().crc32c(region, start, editLength);
    region.putInt(offset, Math.toIntExact(editLength));
    region.putInt(offset + ManifestFormat.CRC_AT, crc ^ ManifestFormat.place(number, fileOffset));
    return ManifestFormat.RECORD_HEADER_BYTES + editLength;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // guarded by the version set's lock
  private void finish(Region scratch, long count) throws IOException {
    output.sync(file);
    length += count;
    mark(scratch);
  }

  private void takeBack(Region scratch) {
    try {
      file.truncate(length);
      output.sync(file);
    } catch (IOException e) {
      // The manifest stays in doubt. Report the original failure.
      return;
    }
    mark(scratch);
    intact = true;
    // Begin another manifest if there is space: what failed here may fail forever.
    largeFrom = 0;
  }

  /**
   * Writes the mark: the last edit was synced, so a mark without it proves damage rather than a
   * crash. The next edit is longer and overwrites the mark. The mark is not synced: its loss does
   * no harm.
   */
  private void mark(Region scratch) {
    marked = false;
    scratch.putInt(0, 0);
    scratch.putInt(ManifestFormat.CRC_AT, ManifestFormat.place(number, length));
    try {
      output.write(file, scratch, ManifestFormat.RECORD_HEADER_BYTES, length);
      marked = true;
    } catch (IOException e) {
      // The edit is durable, as the caller requires.
      return;
    }
  }

  private GrowingRegion scratch() {
    return new GrowingRegion(output.ledger(), MemoryPurpose.COMMIT);
  }
}
