package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * CPU time of this process, in seconds. Only Linux reports system time apart; elsewhere all of it
 * counts as user time.
 */
record ProcessorTime(double system, double user) {
  private static final Path LINUX = Path.of("/proc/self/stat");

  /** Unit of Linux on all architectures that Java runs on. */
  private static final double TICKS_PER_SECOND = 100;

  static ProcessorTime now() {
    try {
      return parse(Files.readString(LINUX, ISO_8859_1));
    } catch (IOException | RuntimeException e) {
      // Not Linux, or a container without that file.
      return new ProcessorTime(0, total());
    }
  }

  /** The name of the program, in parentheses, may contain blanks; numbers follow. */
  static ProcessorTime parse(String line) {
    String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ", -1);
    return new ProcessorTime(
        Long.parseLong(fields[12]) / TICKS_PER_SECOND,
        Long.parseLong(fields[11]) / TICKS_PER_SECOND);
  }

  private static double total() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean process
        ? Math.max(0, process.getProcessCpuTime()) / 1e9
        : 0;
  }

  static String text(double seconds) {
    return String.format(Locale.ROOT, "%.6f", seconds);
  }
}
