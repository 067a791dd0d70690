package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.version.ManifestFormat.Header;
import java.io.IOException;

/**
 * CURRENT, the one file with a fixed name: says which manifest is in force. Replaced as a whole, so
 * that it always is either the old one or the new one.
 */
final class CurrentFile {
  private CurrentFile() {}

  static Header read(Storage storage, MemoryLedger ledger) throws IOException {
    // One byte more than it has, to notice a longer file.
    Region region = ledger.allocate(MemoryPurpose.READ, ManifestFormat.HEADER_BYTES + 1);
    try (StorageFile file = storage.open(StoreFiles.CURRENT, /* writable= */ false)) {
      NativeWindow window = new NativeWindow();
      int length = file.read(window.over(region, 0, (int) region.length()), 0);
      Header header =
          ManifestFormat.header(
              region, length, ManifestFormat.CURRENT_MAGIC, StoreFiles.CURRENT, window);
      if (length > ManifestFormat.HEADER_BYTES) {
        throw new CorruptionException(
            StoreFiles.CURRENT, ManifestFormat.HEADER_BYTES, "the end of the file", "more bytes");
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

  /** Makes the file that {@link #install} is to put in force. */
  static void prepare(DurableOutput output, Header header) throws IOException {
    Storage storage = output.storage();
    if (storage.exists(StoreFiles.CURRENT_TEMPORARY)) {
      storage.delete(StoreFiles.CURRENT_TEMPORARY);
    }
    Region region = output.ledger().allocate(MemoryPurpose.COMMIT, ManifestFormat.HEADER_BYTES);
    try (StorageFile file = storage.create(StoreFiles.CURRENT_TEMPORARY)) {
      ManifestFormat.putHeader(region, ManifestFormat.CURRENT_MAGIC, header, output.window());
      output.write(file, region, ManifestFormat.HEADER_BYTES, 0);
      output.sync(file);
    } finally {
      region.free();
    }
  }

  /** After a failure either file may be in force after a crash. */
  static void install(DurableOutput output) throws IOException {
    output.storage().rename(StoreFiles.CURRENT_TEMPORARY, StoreFiles.CURRENT);
    output.syncDirectory();
  }
}
