package io.kvsep.internal.io;

import io.kvsep.error.StoreLockedException;
import java.io.IOException;
import java.nio.file.Path;

/** Locks a directory, says whether it could, and keeps the lock until its input ends. */
final class LockingProcess {
  private LockingProcess() {}

  public static void main(String[] arguments) throws IOException {
    try (Storage storage = new FileStorage(Path.of(arguments[0]), false);
        StorageLock lock = storage.lock(StoreFiles.LOCK, Boolean.parseBoolean(arguments[1]))) {
      System.out.println("locked");
      while (System.in.read() >= 0) {
        // Only the end of the input counts.
      }
      lock.close();
    } catch (StoreLockedException e) {
      System.out.println("refused");
    }
  }
}
