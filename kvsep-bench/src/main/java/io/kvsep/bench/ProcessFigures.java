package io.kvsep.bench;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What the operating system holds for this process; -1 where it does not say. */
final class ProcessFigures {
  private static final Path MAPPINGS = Path.of("/proc/self/maps");

  private ProcessFigures() {}

  /** Areas of the address space, of which Linux allows 65,530 unless told otherwise. */
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
