package io.kvsep.internal.backup;

import io.kvsep.internal.io.NewDirectory;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.VersionCopy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;

/**
 * Copies a store that is not open for writing, file by file. Files that no opening changes are
 * linked; the manifest and what the log may still append to are copied. The source is only read.
 */
public final class ClosedStoreCopy {
  private ClosedStoreCopy() {}

  /**
   * Creates the copy; after an error {@code target} does not exist.
   *
   * @param isLocked whether the caller holds the lock of the source; it holds none if there is no
   *     lock file
   * @throws java.nio.file.NoSuchFileException if it holds no store
   */
  public static void run(Storage source, boolean isLocked, Path target) throws IOException {
    MemoryLedger ledger = new MemoryLedger();
    Set<String> unchanging = VersionCopy.unchangingFiles(source, ledger);
    try (NewDirectory copy = source.newDirectory(target)) {
      // Before CURRENT is there, or locking would wait for a former holder. Created at all so that
      // a
      // read-only opener of the copy can lock out writers.
      StorageLock lock = copy.storage().lock(StoreFiles.LOCK, /* shared= */ false);
      lock.close();
      for (String name : source.list()) {
        boolean isCopied =
            switch (StoreFiles.kindOf(name)) {
              case CURRENT, MANIFEST, SEGMENT, TABLE -> true;
              case LOCK, TEMPORARY, OTHER -> false;
            };
        if (isCopied && !(unchanging.contains(name) && copy.link(name))) {
          FileCopy.copy(source, name, copy.storage(), name, length(source, name), ledger, () -> {});
        }
      }
      if (!isLocked && source.exists(StoreFiles.LOCK)) {
        throw new IOException("another process opened the source during the copy");
      }
      copy.storage().syncDirectory();
      copy.publish();
    }
  }

  private static long length(Storage source, String name) throws IOException {
    try (StorageFile file = source.open(name, /* writable= */ false)) {
      return file.length();
    }
  }
}
