package io.kvsep.internal.memory;

import java.lang.management.ManagementFactory;

/** The memory of this machine or, where that is limited, of the container. */
public final class PhysicalMemory {
  private PhysicalMemory() {}

  /**
   * Its bytes, as the JVM knows them; {@link Long#MAX_VALUE} where it does not. Costs some time.
   */
  public static long bytes() {
    try {
      return ManagementFactory.getOperatingSystemMXBean()
              instanceof com.sun.management.OperatingSystemMXBean system
          ? system.getTotalMemorySize()
          : Long.MAX_VALUE;
    } catch (RuntimeException | LinkageError e) {
      // Such as a runtime that was put together without management.
      return Long.MAX_VALUE;
    }
  }
}
