package io.kvsep;

import io.kvsep.error.StorageException;
import io.kvsep.internal.backup.ClosedStoreCopy;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Objects;

/** Copies a closed store into a new directory. */
final class StoreCopy {
  private StoreCopy() {}

  static void run(Path closedStore, Path target) {
    Objects.requireNonNull(closedStore, "closedStore");
    Objects.requireNonNull(target, "target");
    OpenStore.requireDirectory(closedStore);
    if (Files.notExists(closedStore, LinkOption.NOFOLLOW_LINKS)) {
      throw OpenStore.notFound(closedStore);
    }
    try (FileStorage source = new FileStorage(closedStore, /* createIfMissing= */ false)) {
      Path place = StoreRepair.realPlace(target.toAbsolutePath().normalize());
      if (place.startsWith(closedStore.toRealPath())) {
        throw new IllegalArgumentException(target + " is inside " + closedStore);
      }
      copy(source, closedStore, target);
    } catch (FileAlreadyExistsException e) {
      throw new StorageException("cannot copy the store: " + target + " is there already", e);
    } catch (IOException e) {
      throw new StorageException("cannot copy " + closedStore + " to " + target, e);
    }
  }

  private static void copy(FileStorage source, Path closedStore, Path target) throws IOException {
    boolean isLocked = source.exists(StoreFiles.LOCK);
    try (StorageLock lock = StoreRepair.lock(source)) {
      ClosedStoreCopy.run(source, isLocked, target);
    } catch (NoSuchFileException e) {
      if (StoreFiles.CURRENT.equals(e.getFile())) {
        throw OpenStore.notFound(closedStore);
      }
      throw e;
    }
  }
}
