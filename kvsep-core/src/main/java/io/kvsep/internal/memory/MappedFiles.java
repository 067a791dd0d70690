package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;

/**
 * Maps files and unmaps them at once. From JDK 22 on the jar has a second version of this class, in
 * {@code src/main/java22}.
 */
public final class MappedFiles {
  private MappedFiles() {}

  /** Maps the first bytes of a file, read-only. */
  public static ByteBuffer map(FileChannel channel, long length) throws IOException {
    return channel.map(MapMode.READ_ONLY, 0, length);
  }

  /** Unmaps a mapping without views. */
  static void unmap(ByteBuffer mapping) {
    UNSAFE.invokeCleaner(mapping);
  }
}
