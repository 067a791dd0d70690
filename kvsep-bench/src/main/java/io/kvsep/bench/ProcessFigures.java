package io.kvsep.bench;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Resources that the operating system holds for this process; -1 if unknown. */
final class ProcessFigures {
  private static final Path MAPPINGS = Path.of("/proc/self/maps");

  private ProcessFigures() {}

  /** Number of memory mappings; the default limit of Linux is 65,530. */
  static long mappings() {
    try (Stream<String> lines = Files.lines(MAPPINGS)) {
      return lines.count();
    } catch (IOException e) {
      return -1;
    }
  }

  static long openFiles() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
        ? system.getOpenFileDescriptorCount()
        : -1;
  }
}
