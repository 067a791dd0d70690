package io.kvsep.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The page cache of the operating system. */
final class FileCache {
  private static final Path DROP = Path.of("/proc/sys/vm/drop_caches");

  private FileCache() {}

  static void drop(Figures figures) {
    if (!drop()) {
      figures.text("file cache", "cannot be emptied here: nothing is read from the device");
    }
  }

  /**
   * Drops all clean pages, so that the next reads come from the device.
   *
   * @return false if that is not possible or not permitted
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
