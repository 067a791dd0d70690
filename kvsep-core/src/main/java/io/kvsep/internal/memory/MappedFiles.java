package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;

/**
 * Maps files and unmaps them at once. {@code src/main/java22} has a second version of this class,
 * see {@link RawBytes}.
 */
public final class MappedFiles {
  private MappedFiles() {}

  /** Read-only. */
  public static ByteBuffer map(FileChannel channel, long length) throws IOException {
    return channel.map(MapMode.READ_ONLY, 0, length);
  }

  /** For a mapping without views. */
  static void unmap(ByteBuffer mapping) {
    try {
      UNSAFE.invokeCleaner(mapping);
    } catch (IllegalArgumentException e) {
      // A view of other memory, which the garbage collector frees.
      return;
    }
  }
}
