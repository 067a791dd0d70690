package io.kvsep.testing;

import io.kvsep.internal.memory.ColdReadPolicy;

/**
 * Memory for files of a fixed size, in which no page fault waits for a device.
 *
 * @param fileBytes the size
 */
public record FixedMemory(long fileBytes) implements ColdReadPolicy.Memory {
  /** Every store fits. */
  public static final FixedMemory AMPLE = new FixedMemory(Long.MAX_VALUE);

  /** No store fits. */
  public static final FixedMemory NONE = new FixedMemory(0);

  @Override
  public long majorFaults() {
    return 0;
  }
}
