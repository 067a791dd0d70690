package io.kvsep.bench.compare;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/** What Linux reports about this process; 0 elsewhere. */
final class ProcessStatus {
  private static final Path STATUS = Path.of("/proc/self/status");
  private static final Path IO = Path.of("/proc/self/io");

  private ProcessStatus() {}

  /** A line of {@code /proc/self/status} with a number of kilobytes. */
  static long bytes(String name) {
    return number(STATUS, name) * 1024;
  }

  /** Bytes of pages that were dirtied and so are to be written to a device. */
  static long writtenBytes() {
    return number(IO, "write_bytes");
  }

  /** Memory of the machine, or of the group that the process runs in. */
  static long memoryBytes() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
  }

  private static long number(Path file, String name) {
    try {
      for (String line : Files.readAllLines(file)) {
        if (line.startsWith(name + ":")) {
          return Long.parseLong(line.substring(name.length() + 1).replaceAll("[^0-9]", ""));
        }
      }
      return 0;
    } catch (IOException e) {
      return 0;
    }
  }
}
