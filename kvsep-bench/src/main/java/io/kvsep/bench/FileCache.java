package io.kvsep.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The operating system's cache of files. */
final class FileCache {
  private static final Path DROP = Path.of("/proc/sys/vm/drop_caches");

  private FileCache() {}

  /** Empties it, or says among the figures that this is not possible. */
  static void drop(Figures figures) {
    if (!drop()) {
      figures.text("file cache", "cannot be emptied here: nothing is read from the device");
    }
  }

  /**
   * Empties it of all that is written out, so that the next reads come from the device.
   *
   * @return false where that is not possible, or not allowed to this user
   */
  private static boolean drop() {
    if (!Files.isWritable(DROP)) {
      return false;
    }
    try {
      new ProcessBuilder("sync").inheritIO().start().waitFor();
      Files.writeString(DROP, "3");
      return true;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
