package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;

/**
 * CURRENT, the only file with a fixed name. It names the current manifest and is replaced
 * atomically.
 */
final class CurrentFile {
  static final long FIRST_MANIFEST = 1;

  /**
   * Length of a new manifest with its mark. Edits, which are longer than the mark, follow only once
   * CURRENT is durable.
   */
  static final long NEW_MANIFEST_BYTES = 67;

  private CurrentFile() {}

  /** See {@link VersionSet#exists}. */
  static boolean isIn(Storage storage) throws IOException {
    List<String> names = storage.list();
    if (names.contains(StoreFiles.CURRENT)) {
      return true;
    }
    for (String name : names) {
      boolean ofStore =
          switch (StoreFiles.kindOf(name)) {
            case SEGMENT, TABLE -> true;
            case MANIFEST -> StoreFiles.numberOf(name) != FIRST_MANIFEST || hasEdits(storage, name);
            case CURRENT, LOCK, TEMPORARY, OTHER -> false;
          };
      if (ofStore) {
        if (storage.exists(StoreFiles.CURRENT)) {
          // Another process is creating the store and wrote CURRENT after the listing.
          return true;
        }
        throw new CorruptionException(
            StoreFiles.CURRENT, 0, "the file that names the manifest", "none beside " + name);
      }
    }
    return false;
  }

  private static boolean hasEdits(Storage storage, String manifest) throws IOException {
    try (StorageFile file = storage.open(manifest, /* writable= */ false)) {
      return file.length() > NEW_MANIFEST_BYTES;
    } catch (NoSuchFileException e) {
      // Another process is creating a store and has removed the remains of an earlier attempt.
      return false;
    }
  }

  static FileHeader read(Storage storage, MemoryLedger ledger) throws IOException {
    // One more byte detects a longer file.
    Region region = ledger.allocate(MemoryPurpose.READ, FileHeader.BYTES + 1);
    try (StorageFile file = storage.open(StoreFiles.CURRENT, /* writable= */ false)) {
      NativeWindow window = new NativeWindow();
      int length = file.read(window.over(region, 0, (int) region.length()), 0);
      FileHeader header =
          FileHeader.read(region, length, ManifestFormat.CURRENT, StoreFiles.CURRENT, window);
      if (length > FileHeader.BYTES) {
        throw new CorruptionException(
            StoreFiles.CURRENT, FileHeader.BYTES, "the end of the file", "more bytes");
      }
      if (header.number() < 1) {
        throw new CorruptionException(
            StoreFiles.CURRENT, 0, "a manifest number", "number " + header.number());
      }
      return header;
    } finally {
      region.free();
    }
  }

  /** Writes the file that {@link #install} renames. */
  static void prepare(DurableOutput output, FileHeader header) throws IOException {
    Storage storage = output.storage();
    if (storage.exists(StoreFiles.CURRENT_TEMPORARY)) {
      storage.delete(StoreFiles.CURRENT_TEMPORARY);
    }
    Region region = output.ledger().allocate(MemoryPurpose.COMMIT, FileHeader.BYTES);
    try (StorageFile file = storage.create(StoreFiles.CURRENT_TEMPORARY)) {
      header.put(region, ManifestFormat.CURRENT, output.window());
      output.write(file, region, FileHeader.BYTES, 0);
      output.sync(file);
    } finally {
      region.free();
    }
  }

  /** After a failure and a crash either file may be current. */
  static void install(DurableOutput output) throws IOException {
    output.storage().rename(StoreFiles.CURRENT_TEMPORARY, StoreFiles.CURRENT);
    output.syncDirectory();
  }
}
