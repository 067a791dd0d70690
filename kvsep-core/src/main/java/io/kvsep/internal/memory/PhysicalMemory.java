package io.kvsep.internal.memory;

import java.lang.management.ManagementFactory;

/** The memory of this machine or, if limited, of the container. */
public final class PhysicalMemory {
  /** Asked once: it is not cheap. */
  private static final class Known {
    static final long BYTES = ask();
  }

  private PhysicalMemory() {}

  /** According to the JVM; {@link Long#MAX_VALUE} if unknown. */
  public static long bytes() {
    return Known.BYTES;
  }

  private static long ask() {
    try {
      return ManagementFactory.getOperatingSystemMXBean()
              instanceof com.sun.management.OperatingSystemMXBean system
          ? system.getTotalMemorySize()
          : Long.MAX_VALUE;
    } catch (RuntimeException | LinkageError e) {
      // For example in a runtime image without the management module.
      return Long.MAX_VALUE;
    }
  }
}
