package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads the manifest that CURRENT names, as a whole, into memory. Changes nothing.
 *
 * <p>Each edit is synced before the next edit or the mark is written. So a damaged record is an
 * incomplete write and is ignored, unless a sound record or a mark follows it; then it is
 * corruption. The first record was synced before CURRENT named the file, so it must be sound.
 */
final class ManifestReader {
  private static final int STEP_BYTES = 1 << 30;

  private final NativeWindow window = new NativeWindow();
  private final String name;
  private final long number;
  private final Region region;
  private final long length;

  private ManifestReader(long number, Region region, long length) {
    this.name = StoreFiles.manifest(number);
    this.number = number;
    this.region = region;
    this.length = length;
  }

  /**
   * @param replay all sound edits
   * @param length up to the end of the last one
   * @param isWhole whether a mark follows: no edit is missing
   */
  record Contents(EditReplay replay, long length, boolean isWhole) {}

  static Contents read(Storage storage, FileHeader current, MemoryLedger ledger)
      throws IOException {
    String name = StoreFiles.manifest(current.number());
    try {
      return withLoaded(
          storage,
          current,
          ledger,
          reader -> {
            reader.checkHeader(current.storeId());
            return reader.replay();
          });
    } catch (NoSuchFileException e) {
      throw new CorruptionException(name, 0, "the manifest that CURRENT names", "no such file");
    }
  }

  /** The edits are sound but do not make up a store. */
  static CorruptionException unfitting(String manifest, RuntimeException why) {
    return new CorruptionException(
        manifest, FileHeader.BYTES, "edits that fit", String.valueOf(why.getMessage()));
  }

  /** Null if it is damaged. */
  static @Nullable FileHeader header(Storage storage, long number, MemoryLedger ledger)
      throws IOException {
    String name = StoreFiles.manifest(number);
    Region region = ledger.allocate(MemoryPurpose.READ, FileHeader.BYTES);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      NativeWindow window = new NativeWindow();
      int length = file.read(window.over(region, 0, FileHeader.BYTES), 0);
      FileHeader header = FileHeader.read(region, length, ManifestFormat.MANIFEST, name, window);
      return header.number() == number ? header : null;
    } catch (CorruptionException | IncompatibleFormatException e) {
      return null;
    } finally {
      region.free();
    }
  }

  /** From the edits before the first damage. */
  static KeyspaceIds keyspacesInFront(Storage storage, FileHeader current, MemoryLedger ledger)
      throws IOException {
    try {
      return withLoaded(storage, current, ledger, ManifestReader::keyspacesInFront);
    } catch (NoSuchFileException e) {
      return KeyspaceIds.NONE;
    }
  }

  private static <T> T withLoaded(
      Storage storage, FileHeader current, MemoryLedger ledger, Function<ManifestReader, T> use)
      throws IOException {
    String name = StoreFiles.manifest(current.number());
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long length = file.length();
      Region region = ledger.allocate(MemoryPurpose.READ, Math.max(length, FileHeader.BYTES));
      try {
        ManifestReader reader = new ManifestReader(current.number(), region, length);
        reader.load(file);
        return use.apply(reader);
      } finally {
        region.free();
      }
    }
  }

  private KeyspaceIds keyspacesInFront() {
    KeyspaceIds keyspaces = KeyspaceIds.NONE;
    long offset = FileHeader.BYTES;
    while (offset < length && holds(offset)) {
      long edit = offset + ManifestFormat.RECORD_HEADER_BYTES;
      long editLength = Integer.toUnsignedLong(region.getInt(offset));
      try {
        keyspaces = keyspaces.with(new EditDecoder(region, name, edit, editLength).decode());
      } catch (CorruptionException | IncompatibleFormatException | IllegalStateException e) {
        return keyspaces;
      }
      offset = edit + editLength;
    }
    return keyspaces;
  }

  private void load(StorageFile file) throws IOException {
    long done = 0;
    while (done < length) {
      int step = (int) Math.min(length - done, STEP_BYTES);
      if (file.read(window.over(region, done, step), done) < step) {
        throw new EOFException(name + " became shorter while it was read");
      }
      done += step;
    }
  }

  private void checkHeader(StoreId storeId) {
    FileHeader.read(region, length, ManifestFormat.MANIFEST, name, window)
        .require(storeId, number, ManifestFormat.MANIFEST, name);
  }

  private Contents replay() {
    EditReplay replay = new EditReplay();
    long offset = FileHeader.BYTES;
    while (offset < length && holds(offset)) {
      long edit = offset + ManifestFormat.RECORD_HEADER_BYTES;
      long editLength = Integer.toUnsignedLong(region.getInt(offset));
      try {
        replay.add(new EditDecoder(region, name, edit, editLength).decode());
      } catch (IllegalStateException e) {
        throw new CorruptionException(name, offset, "an edit", String.valueOf(e.getMessage()));
      }
      offset = edit + editLength;
    }
    if (offset == FileHeader.BYTES) {
      throw new CorruptionException(name, offset, "a snapshot of the store", "no sound record");
    }
    if (offset < length) {
      requireTorn(offset);
    }
    return new Contents(replay, offset, isMark(offset));
  }

  private void requireTorn(long offset) {
    for (long later = offset + 1; later < length; later++) {
      if (holds(later) || isMark(later)) {
        throw new CorruptionException(
            name, offset, "a sound record", "none, but a later one at " + later);
      }
    }
  }

  private boolean isMark(long offset) {
    return length - offset >= ManifestFormat.RECORD_HEADER_BYTES
        && region.getInt(offset) == 0
        && region.getInt(offset + ManifestFormat.CRC_AT) == ManifestFormat.place(number, offset);
  }

  private boolean holds(long offset) {
    long room = length - offset - ManifestFormat.RECORD_HEADER_BYTES;
    if (room < 1) {
      return false;
    }
    long editLength = Integer.toUnsignedLong(region.getInt(offset));
    if (editLength < 1 || editLength > room) {
      return false;
    }
    int stored = region.getInt(offset + ManifestFormat.CRC_AT);
    long edit = offset + ManifestFormat.RECORD_HEADER_BYTES;
    return (window.crc32c(region, edit, editLength) ^ ManifestFormat.place(number, offset))
        == stored;
  }
}
