package io.kvsep.internal.version;

import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/**
 * A manifest that this process has made and appends to. Owns the open file. Each edit is written at
 * once and synced; after a failure nothing more may be appended unless it {@link #isIntact}. Memory
 * is held only during a call. One thread at a time, except for the length.
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

  /** A new manifest that begins with {@code snapshot}; synced, but not its name. */
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
   * Writes and syncs one edit. Where it cannot be written, as without space, what is there of it is
   * taken back if that works, for which no space is needed.
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

  /** Whether it is certain to hold all edits that were appended, and nothing of any other one. */
  boolean isIntact() {
    return intact;
  }

  /** Whether a snapshot would be much shorter than what has piled up. */
  boolean isLarge() {
    return length > largeFrom;
  }

  /** There was no room for a snapshot; the next try waits until twice as much has piled up. */
  void postponeLarge() {
    largeFrom = 2 * length;
  }

  String name() {
    return file.name();
  }

  /** Whether the mark behind the last edit was written. */
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
      // Everything that counts is synced; there is nothing a failed close could take away.
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

  /** Returns the bytes of the record, which stands at {@code offset} of the scratch space. */
  private long putRecord(GrowingRegion scratch, long offset, VersionEdit edit, long fileOffset) {
    long start = offset + ManifestFormat.RECORD_HEADER_BYTES;
    long editLength = new EditEncoder(scratch, start).encode(edit) - start;
    Region region = scratch.region();
    int crc = output.window().crc32c(region, start, editLength);
    region.putInt(offset, Math.toIntExact(editLength));
    region.putInt(offset + ManifestFormat.CRC_AT, crc ^ ManifestFormat.place(number, fileOffset));
    return ManifestFormat.RECORD_HEADER_BYTES + editLength;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // under the version set's lock; others only read it
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
      // What is in doubt stays so; the failure that brought us here is the one worth reporting.
      return;
    }
    mark(scratch);
    intact = true;
    // Another one had better be begun, if there is space: what failed here may fail for ever.
    largeFrom = 0;
  }

  /**
   * Says behind the last edit that it was synced: whoever finds the mark and not the edit knows
   * that this is damage and not what a crash left. The next edit takes the place of the mark, and
   * is longer. The mark is not synced, and nothing is lost with it.
   */
  private void mark(Region scratch) {
    marked = false;
    scratch.putInt(0, 0);
    scratch.putInt(ManifestFormat.CRC_AT, ManifestFormat.place(number, length));
    try {
      output.write(file, scratch, ManifestFormat.RECORD_HEADER_BYTES, length);
      marked = true;
    } catch (IOException e) {
      // The edit is durable, and that is what the caller asked for.
      return;
    }
  }

  private GrowingRegion scratch() {
    return new GrowingRegion(output.ledger(), MemoryPurpose.COMMIT);
  }
}
